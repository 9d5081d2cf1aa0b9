// SPDX-License-Identifier: BSD-3-Clause
//
// The source of the layer snapshot: takes snapshots of file systems, processes and the system when the recording starts,
// and again where that is asked for. Each is taken in a thread of its own; of a file system, all after the first tell
// what has changed.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "capture/source.hpp"

namespace iotrail::capture {

struct SnapshotWanted {
  iot_u32 kind = 0;            // of the value table `snapshot_kind`
  std::filesystem::path root;  // of a file system
  std::uint64_t period_ns = 0; // 0: once
};

struct SnapshotOptions {
  std::vector<SnapshotWanted> wanted;
  // File systems are told as a delta of what these traces have: one with whole snapshots, then those that continue it.
  // A file system without a root is then taken as all that they have.
  std::vector<std::filesystem::path> since;
};

std::unique_ptr<Source> make_snapshot_source(SnapshotOptions options);

} // namespace iotrail::capture
