// SPDX-License-Identifier: BSD-3-Clause
//
// What stored traces say of file systems, as the baseline of a delta.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "base/result.hpp"
#include "capture/snapshot/files/file_baseline.hpp"

namespace iotrail::capture::snapshot {

struct StoredFiles {
  std::map<std::string, FileBaseline> by_root; // by where the snapshots began
  std::string trace_id;                        // of the last trace
};

// `traces`: one with whole snapshots of file systems, and those that continue it, each a delta of the one before. What an
// unfinished snapshot has counts as well: a delta adds the rest.
Result<StoredFiles> read_stored_files(std::span<const std::filesystem::path> traces);

} // namespace iotrail::capture::snapshot
