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

struct CatalogueEntry {
  std::filesystem::path path;
  std::string name; // without suffix
  Manifest manifest;
  std::uint64_t events_bytes = 0; // of all segments on disk
  std::string problem;            // not empty: the manifest could not be read, and why
};

// As far as names tell; also a directory NAME.iotrail that may not be looked into.
bool is_trace(const std::filesystem::path& path);
CatalogueEntry catalogue_entry(const std::filesystem::path& trace);

// Where a trace called `name` goes: a path (has a slash or the suffix) is taken as it is, an empty name becomes
// <command>-YYYYMMDD-HHMMSS in the repository.
std::filesystem::path new_trace_path(std::string_view name, std::string_view command);

// An existing trace by path or by name; the error lists what was tried. "latest" is the newest in the repository.
Result<std::filesystem::path> find_trace(std::string_view name);

// Sorted by name; `pattern` is a name or a prefix ending in '*'; empty: all.
Result<std::vector<CatalogueEntry>> list_traces(const std::filesystem::path& repository,
                                                std::string_view pattern = {});

// Removes the files of a trace and its directory. Refuses a trace that is being recorded unless `force`, and always what is
// not a trace, or a symbolic link to one. Files that are not the trace's stay and are named in the error.
Result<void> remove_trace(const std::filesystem::path& trace, bool force);

// Sets or, with an empty value, removes a tag.
Result<void> tag_trace(const std::filesystem::path& trace, const std::string& name,
                       const std::string& value);

} // namespace iotrail::store
