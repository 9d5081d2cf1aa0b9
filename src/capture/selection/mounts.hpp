// SPDX-License-Identifier: BSD-3-Clause
//
// The mounts that this process sees, from /proc/self/mountinfo.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "abi.h"

namespace iotrail::capture {

struct Mount {
  iot_u64 id = 0;
  iot_u64 parent = 0;
  iot_u32 device = 0; // of the file system, major << 20 | minor: what the kernel knows its files by
  std::string root;   // what of the file system is mounted; "/": the whole
  std::string point;
  std::string options; // of the mount
  std::string type;
  std::string source;              // often a block device's path
  std::string file_system_options; // as they hold for all its mounts
};

std::vector<Mount> read_mounts();
std::vector<Mount> read_mounts(std::istream& mountinfo);

} // namespace iotrail::capture
