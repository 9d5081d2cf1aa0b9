// SPDX-License-Identifier: BSD-3-Clause
//
// The traces of the repository under the names that iotrace gives them: `kernel/2026-05-01_12:34:56`, by their begin in local
// time. Of several in one second, the later ones end in _2, _3, ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::compat::iotrace {

using Json = nlohmann::ordered_json;

struct CatalogEntry {
  std::string trace_path; // "kernel/2026-05-01_12:34:56"
  store::RepositoryEntry entry;
};

// Sorted by trace path. `pattern` is a trace path, or a prefix of trace paths that ends in *; empty: all traces.
Result<std::vector<CatalogEntry>> list_catalog(std::string_view pattern);

// The trace of this trace path. iotrail's own name of a trace, or its path, is also understood.
Result<CatalogEntry> find_in_catalog(const std::string& path);
// The name of a trace that was just recorded into the repository.
std::string trace_path_of(const std::filesystem::path& trace);

// A state of iotrace: COMPLETE, RUNNING, INITIALIZING, ERROR; UNDEFINED for a trace without an end.
std::string_view state_name(const store::RepositoryEntry& entry);

// The answers {"trace":[...]} and TraceSummary, as iotrace has them.
Json list_json(const std::vector<CatalogEntry>& entries);
Json summary_json(const CatalogEntry& entry);

} // namespace iotrail::compat::iotrace
