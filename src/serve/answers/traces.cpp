// SPDX-License-Identifier: BSD-3-Clause
#include "serve/answers/traces.hpp"

#include <algorithm>
#include <set>

#include "base/nearest_name.hpp"
#include "report/documents/list.hpp"

namespace iotrail::serve {

namespace {

bool is_newer(const store::RepositoryEntry& a, const store::RepositoryEntry& b) {
  return a.manifest.begin_real_ns() > b.manifest.begin_real_ns();
}

} // namespace

bool ServedTrace::is_running() const {
  return entry.problem.empty() && (entry.manifest.state == store::State::RUNNING ||
                                   entry.manifest.state == store::State::INITIALIZING);
}

Result<Traces> Traces::of(const std::vector<std::string>& names) {
  Traces traces;
  if (names.empty()) {
    traces.sources_.push_back({store::repository_path(), true});
    traces.place_ = store::repository_path().native();
  }
  for (const std::string& name : names) {
    std::error_code ignored;
    const bool is_directory =
        std::filesystem::is_directory(name, ignored) && !store::is_trace(name);
    const auto path = is_directory ? Result<std::filesystem::path>(name) : store::find_trace(name);
    if (!path)
      return std::unexpected(path.error());
    // An absolute path stays true, whatever the directory of this process.
    traces.sources_.push_back({std::filesystem::absolute(*path, ignored), is_directory});
    traces.place_ += (traces.place_.empty() ? "" : ", ") + name;
  }
  return traces;
}

std::vector<ServedTrace> Traces::list() const {
  std::vector<store::RepositoryEntry> entries;
  for (const Source& source : sources_) {
    if (!source.is_directory)
      entries.push_back(store::repository_entry(source.path));
    else if (auto found = store::list_traces(source.path))
      std::ranges::move(*found, std::back_inserter(entries));
  }
  std::vector<ServedTrace> list;
  std::set<std::string> ids;
  for (store::RepositoryEntry& entry : entries) {
    std::string id = entry.name;
    for (int number = 2; !ids.insert(id).second; ++number)
      id = fmt::format("{}~{}", entry.name, number);
    list.push_back({std::move(id), std::move(entry)});
  }
  std::ranges::stable_sort(list, is_newer, &ServedTrace::entry);
  return list;
}

Result<ServedTrace> Traces::find(std::string_view id) const {
  std::vector<ServedTrace> all = list();
  if (id == store::kLatest && !all.empty())
    return std::move(all.front());
  // A report names its trace by the path, so this is understood too.
  const auto found = std::ranges::find_if(all, [&](const ServedTrace& trace) {
    return trace.id == id || trace.entry.path.native() == id ||
           trace.entry.path.filename().native() == id;
  });
  if (found != all.end())
    return std::move(*found);
  std::vector<std::string_view> ids;
  for (const ServedTrace& trace : all)
    ids.push_back(trace.id);
  return fail_usage(fmt::format("there is no trace '{}' in {}", id, place_), {},
                    did_you_mean(id, ids));
}

output::Document list_document(const Traces& traces, const std::vector<ServedTrace>& list) {
  std::vector<output::ListedTrace> listed;
  for (const ServedTrace& trace : list) {
    listed.push_back({trace.entry});
    listed.back().entry.name = trace.id;
  }
  return output::make_list(listed, traces.place(), "");
}

} // namespace iotrail::serve
