// SPDX-License-Identifier: BSD-3-Clause
//
// The paths of files over the course of a recording. The dictionary `files` has each file's path at
// its first event; later renames, links and removals come from the calls in the trace.
//
// At its end, a call gives a name to a file, and to all files below a directory, if they had an
// event before. A relative path counts only if its start directory is known: from chdir, from the
// process that started this one, and, where these are unknown, from opens. A file with several names (hard links) has the path of its first event or last open; once
// that is removed, another one. A file created without a name gets its first one from its link.
// Paths start at a process's root, if a chroot of the process or of its ancestors is recorded. They
// belong to its container: see directory_links.hpp, process_places.hpp. Unknown are renames by
// processes that were not recorded, and links without an event of the layers vfs or syscall.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/names/process_places.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

inline constexpr std::string_view kDeleted = " (deleted)";

struct FilePath {
  std::uint32_t file;
  bool is_removed;        // the file had no name any more: unlinked, or replaced by a rename
  std::uint64_t since_ns; // 0: from the beginning
  std::uint64_t until_ns; // UINT64_MAX: to the end
  std::string shown_path; // the path; if removed, the last one and " (deleted)", as in the kernel

  std::string_view path() const; // without " (deleted)"
};

// Where the paths of a trace lead.
struct TraceNames {
  // The paths of each file in the dictionary, sorted by file, then by time. The first path of a
  // file begins at 0; each next one begins at the end of the one before.
  std::vector<FilePath> paths;
  std::vector<CurrentDirectory> directories; // sorted by process, then by time
};

// Memory limit for tracking names, in addition to the dictionaries. If a trace needs more, its
// paths are complete up to that point, and its limits() report it.
inline constexpr std::size_t kMostNameBytes = std::size_t{512} << 20U;

TraceNames find_names(const store::TraceReader& trace, std::size_t most_bytes = kMostNameBytes);

// The path of a file at this time, in the result of find_file_paths(); null: no such file.
const FilePath* path_at(std::span<const FilePath> paths, std::uint32_t file, std::uint64_t ts_ns);

} // namespace iotrail::analysis
