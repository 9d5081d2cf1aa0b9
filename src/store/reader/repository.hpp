// SPDX-License-Identifier: BSD-3-Clause
//
// The trace repository: a directory of traces, by default $XDG_STATE_HOME/iotrail (~/.local/state/iotrail).
// A trace is named by its directory, or by its name in the repository with or without `.iotrail`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "store/format/manifest.hpp"
#include "store/format/trace_directory.hpp"

namespace iotrail::store {

inline constexpr std::string_view kLatest = "latest"; // names the newest trace of the repository

struct RepositoryEntry {
  std::filesystem::path path;
  std::string name; // without suffix
  Manifest manifest;
  std::uint64_t events_bytes = 0; // size of all segments on disk
  std::string problem;            // why the manifest could not be read; empty: it was read
};

// Whether `path` looks like a trace, by the names of its files. Also true for a directory
// NAME.iotrail that this user may not open.
bool is_trace(const std::filesystem::path& path);
RepositoryEntry repository_entry(const std::filesystem::path& trace);

// The path of a new trace. A `name` with a slash or the suffix is a path. An empty name becomes
// <command>-YYYYMMDD-HHMMSS in the repository.
std::filesystem::path new_trace_path(std::string_view name, std::string_view command);

// Finds a trace by path or by name; "latest" is the newest one in the repository. The error lists
// the paths tried.
Result<std::filesystem::path> find_trace(std::string_view name);

// Sorted by name. `pattern` is a name or a prefix that ends in '*'; empty: all traces.
Result<std::vector<RepositoryEntry>> list_traces(const std::filesystem::path& repository,
                                                 std::string_view pattern = {});

// Removes the files of a trace and its directory. Refuses a trace that is being recorded, unless
// `force`. Always refuses other directories and symbolic links. Other files in the directory stay;
// the error names them.
Result<void> remove_trace(const std::filesystem::path& trace, bool force);

// Sets a tag or, if `value` is empty, removes it.
Result<void> tag_trace(const std::filesystem::path& trace, const std::string& name,
                       const std::string& value);

} // namespace iotrail::store
