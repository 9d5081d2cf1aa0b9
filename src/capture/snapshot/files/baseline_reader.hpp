// SPDX-License-Identifier: BSD-3-Clause
//
// The state of file systems in stored traces, as the baseline of a delta.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "base/result.hpp"
#include "capture/snapshot/files/file_baseline.hpp"

namespace iotrail::capture::snapshot {

struct StoredFiles {
  std::map<std::string, FileBaseline> by_root; // by the root of the snapshots
  std::string trace_id;                        // of the last trace
};

// `traces`: one with full snapshots of file systems, then its continuations, each a delta of the
// one before. Rows of an unfinished snapshot count as well: a delta adds the rest.
Result<StoredFiles> read_stored_files(std::span<const std::filesystem::path> traces);

} // namespace iotrail::capture::snapshot
