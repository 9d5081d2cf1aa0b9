// SPDX-License-Identifier: BSD-3-Clause
//
// The paths that files had in the course of a recording. The dictionary `files` has each file's path at its first event; what
// calls renamed and removed later is in the trace, of the lowest layer that tells it: vfs, else syscall, else app.
//
// A call gives a name at its end, to the files that have had an event by then: the file, and all that lie below a
// directory. A relative path counts where the directory is known that it begins at, as the view `directories` has it.
// Not known are what processes renamed that were not recorded, and further names (hard links). A trace that would
// need more than kMostPaths, which no program but a hostile one does, has the paths up to there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/trace_reader.hpp"

namespace iotrail::analysis {

struct FilePath {
  std::uint32_t file;
  std::uint64_t since_ns; // 0: from the beginning
  std::uint64_t until_ns; // UINT64_MAX: to the end
  std::string path;       // if it was removed, the last one
  bool is_removed;        // the file had no such name any more: unlinked, or replaced by a rename
};

inline constexpr std::size_t kMostPaths = 1U << 22U;

// Of each file of the dictionary, in the order of files, then of times.
std::vector<FilePath> find_file_paths(const store::TraceReader& trace);

} // namespace iotrail::analysis
