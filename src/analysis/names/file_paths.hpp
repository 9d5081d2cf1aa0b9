// SPDX-License-Identifier: BSD-3-Clause
//
// The paths that files had in the course of a recording. The dictionary `files` has each file's path at its first event; what
// calls renamed, linked and removed later is in the trace.
//
// A call gives a name at its end, to the files that have had an event by then: the file, and all that lie below a
// directory. A relative path counts where the directory is known that it begins at: from opens, and from chdir.
// A file with several names (hard links) has the path that it was seen with or opened by last, while that is there, then
// another one; a file made without a name has its first one from its link on.
// Paths begin at a process's root, where a chroot of it or of those that it comes of is recorded, and are of the container that it
// is in: directory_links.hpp, process_places.hpp.
// Not known are what processes renamed that were not recorded, and links that no event of the layers vfs or syscall tells of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

struct FilePath {
  std::uint32_t file;
  bool is_removed;        // the file had no name any more: unlinked, or replaced by a rename
  std::uint64_t since_ns; // 0: from the beginning
  std::uint64_t until_ns; // UINT64_MAX: to the end
  std::string
      shown_path; // the path; if it was removed the last one, and " (deleted)", as the kernel says it

  std::string_view path() const; // without that
};

// What following the names may need beyond the dictionaries. A trace that needs more has the paths up to there, and
// says so among its limits().
inline constexpr std::size_t kMostNameBytes = std::size_t{512} << 20U;

// Of each file of the dictionary, in the order of files, then of times. The first path of a file begins at 0, the next one
// when the one before it ends.
std::vector<FilePath> find_file_paths(const store::TraceReader& trace,
                                      std::size_t most_bytes = kMostNameBytes);

// Of `paths` as above, that of the file at the time; null: there is no such file.
const FilePath* path_at(std::span<const FilePath> paths, std::uint32_t file, std::uint64_t ts_ns);

} // namespace iotrail::analysis
