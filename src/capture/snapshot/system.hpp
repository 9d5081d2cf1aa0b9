// SPDX-License-Identifier: BSD-3-Clause
//
// The machine: its operating system, memory, disks, mounts, network and settings.
#pragma once

#include <string>

#include "capture/snapshot/rows/snapshot_run.hpp"

namespace iotrail::capture::snapshot {

// The files to read; tests use others.
struct SystemFiles {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string etc = "/etc";
};

// False: it stopped early.
bool take_system(SnapshotRun& run, const SystemFiles& files);

// Its parts.
void take_disks(SnapshotRun& run, const SystemFiles& files);
void take_network(SnapshotRun& run, const SystemFiles& files);
void take_settings(SnapshotRun& run, const SystemFiles& files);

} // namespace iotrail::capture::snapshot
