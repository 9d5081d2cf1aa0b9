// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "abi.h"

namespace iotrail::capture::kernel {

// The device of the file system of `path`. stat(2) returns another one if a file system shows
// several, as btrfs does for its subvolumes. 0: no such path.
iot_u32 file_system_of(const std::string& path);

} // namespace iotrail::capture::kernel
