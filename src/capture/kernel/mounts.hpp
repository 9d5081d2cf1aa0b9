// SPDX-License-Identifier: BSD-3-Clause
//
// The mounts that this process sees, from /proc/self/mountinfo.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "abi.h"

namespace iotrail::capture::kernel {

struct Mount {
  io_u64 id = 0;
  io_u32 device = 0; // of the file system, major << 20 | minor: what the kernel knows its files by
  std::string root;  // what of the file system is mounted; "/": the whole
  std::string point;
  std::string source; // often a block device's path
};

std::vector<Mount> read_mounts();
std::vector<Mount> read_mounts(std::istream& mountinfo);

// The device of the file system that `path` lies on. That of stat(2) differs where a file system shows several, as btrfs
// does for its subvolumes. 0: `path` is not there.
io_u32 file_system_of(const std::string& path);

} // namespace iotrail::capture::kernel
