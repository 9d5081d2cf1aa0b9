// SPDX-License-Identifier: BSD-3-Clause
//
// The source of the layer snapshot: takes snapshots of file systems, processes and the system at
// the start of the recording, and periodically on request. Each kind has a thread of its own. For a
// file system, all snapshots after the first are deltas.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "capture/source.hpp"

namespace iotrail::capture {

struct SnapshotWanted {
  iot_u32 kind = 0;            // a number of the value table `snapshot_kind`
  std::filesystem::path root;  // for a file system
  std::uint64_t period_ns = 0; // 0: once
};

struct SnapshotOptions {
  std::vector<SnapshotWanted> wanted;
  // File systems become deltas of these traces: one with full snapshots, then its continuations. A
  // file system without a root then means all roots in these traces.
  std::vector<std::filesystem::path> since;
};

std::unique_ptr<Source> make_snapshot_source(SnapshotOptions options);

} // namespace iotrail::capture
