// SPDX-License-Identifier: BSD-3-Clause
//
// The mounts of this process's mount namespace, from /proc/self/mountinfo.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "abi.h"

namespace iotrail::capture {

struct Mount {
  iot_u64 id = 0;
  iot_u64 parent = 0;
  iot_u32 device = 0; // of the file system, major << 20 | minor: the kernel's key for its files
  std::string root;   // mounted part of the file system; "/": all of it
  std::string point;
  std::string options; // of the mount
  std::string type;
  std::string source;              // often the path of a block device
  std::string file_system_options; // common to all its mounts
};

std::vector<Mount> read_mounts();
std::vector<Mount> read_mounts(std::istream& mountinfo);

} // namespace iotrail::capture
