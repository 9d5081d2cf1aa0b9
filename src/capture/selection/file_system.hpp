// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "abi.h"

namespace iotrail::capture::kernel {

// The device of the file system that `path` lies on. That of stat(2) differs where a file system shows several, as btrfs
// does for its subvolumes. 0: `path` is not there.
iot_u32 file_system_of(const std::string& path);

} // namespace iotrail::capture::kernel
