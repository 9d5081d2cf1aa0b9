// SPDX-License-Identifier: BSD-3-Clause
//
// Loop devices: disks with their data in a file, which a file system on another disk has.
#pragma once

#include <string>
#include <vector>

#include "abi.h"

namespace iotrail::capture {

// Names of the loop devices ("loop1") with their files on this disk, or on loop devices on it.
// Sorted.
std::vector<std::string> loop_devices_on(iot_u32 disk);

} // namespace iotrail::capture
