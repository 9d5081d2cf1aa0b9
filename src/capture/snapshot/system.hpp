// SPDX-License-Identifier: BSD-3-Clause
//
// The machine: its operating system, memory, disks, mounts, network and settings.
#pragma once

#include <string>

#include "capture/snapshot/rows/taking.hpp"

namespace iotrail::capture::snapshot {

// The files to read; tests use others.
struct SystemFiles {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string etc = "/etc";
};

// False: it stopped early.
bool take_system(Taking& taking, const SystemFiles& files);

// Its parts.
void take_disks(Taking& taking, const SystemFiles& files);
void take_network(Taking& taking, const SystemFiles& files);
void take_settings(Taking& taking, const SystemFiles& files);

} // namespace iotrail::capture::snapshot
