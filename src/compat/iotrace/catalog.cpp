// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/catalog.hpp"

#include <algorithm>
#include <ctime>
#include <map>

#include <fmt/format.h>

#include "compat/iotrace/answers/mount_points.hpp"
#include "store/format/recorder_tags.hpp"

namespace iotrail::compat::iotrace {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kMiB = 1U << 20U;

std::string local_time(std::int64_t real_ns, const char* format) {
  const std::time_t seconds = real_ns / kNsPerSecond - (real_ns % kNsPerSecond < 0 ? 1 : 0);
  std::tm local{};
  char text[64];
  if (localtime_r(&seconds, &local) == nullptr ||
      std::strftime(text, sizeof text, format, &local) == 0)
    return "0000-00-00";
  return text;
}

std::string name_by_time(const store::RepositoryEntry& entry) {
  if (!entry.problem.empty()) // nothing but its name is known
    return "kernel/" + entry.name;
  return "kernel/" + local_time(entry.manifest.begin_real_ns(), "%Y-%m-%d_%H:%M:%S");
}

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*'))
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern.empty() || name == pattern;
}

Result<std::vector<CatalogEntry>> read_catalog() {
  auto traces = store::list_traces(store::repository_path());
  if (!traces)
    return std::unexpected(traces.error());
  std::ranges::stable_sort(*traces, {}, [](const store::RepositoryEntry& entry) {
    return entry.manifest.begin_real_ns();
  });
  std::vector<CatalogEntry> entries;
  std::map<std::string, int> uses;
  for (store::RepositoryEntry& trace : *traces) {
    std::string name = name_by_time(trace);
    if (const int number = ++uses[name]; number > 1)
      name += fmt::format("_{}", number);
    entries.push_back({std::move(name), std::move(trace)});
  }
  std::ranges::sort(entries, {}, &CatalogEntry::trace_path);
  return entries;
}

std::string text_of(std::uint64_t number) {
  return fmt::to_string(number);
}

// A trace may hold any bytes, also in tags.
Json tags_json(const std::map<std::string, std::string>& tags) {
  Json json = Json::object();
  for (const auto& [name, value] : store::user_tags(tags))
    if (!name.starts_with(kOwnTags))
      json[name] = value;
  return json;
}

} // namespace

Result<std::vector<CatalogEntry>> list_catalog(std::string_view pattern) {
  auto entries = read_catalog();
  if (entries)
    std::erase_if(*entries,
                  [&](const CatalogEntry& one) { return !matches(one.trace_path, pattern); });
  return entries;
}

Result<CatalogEntry> find_in_catalog(const std::string& path) {
  const std::string name = path.substr(0, path.find_last_not_of('/') + 1);
  auto entries = read_catalog();
  if (!entries)
    return std::unexpected(entries.error());
  if (const auto listed = std::ranges::find(*entries, name, &CatalogEntry::trace_path);
      listed != entries->end())
    return std::move(*listed);
  if (name.starts_with("kernel/"))
    return fail(fmt::format("there is no trace {}", name),
                fmt::format("looked in {}", store::repository_path().native()),
                "See `iotrace --trace-management --list-traces`.");
  const auto found = store::find_trace(path);
  if (!found)
    return std::unexpected(found.error());
  if (!store::is_trace(*found))
    return fail(fmt::format("there is no trace {}", path),
                fmt::format("{} holds no trace", found->native()),
                "See `iotrace --trace-management --list-traces`.");
  store::RepositoryEntry entry = store::repository_entry(*found);
  std::string trace_path = name_by_time(entry);
  return CatalogEntry{std::move(trace_path), std::move(entry)};
}

std::string trace_path_of(const std::filesystem::path& trace) {
  if (const auto entries = read_catalog())
    for (const CatalogEntry& one : *entries)
      if (one.entry.path == trace)
        return one.trace_path;
  return name_by_time(store::repository_entry(trace));
}

std::string_view state_name(const store::RepositoryEntry& entry) {
  if (!entry.problem.empty())
    return "ERROR";
  return entry.manifest.state == store::State::INCOMPLETE ? "UNDEFINED"
                                                          : store::state_name(entry.manifest.state);
}

Json list_json(const std::vector<CatalogEntry>& entries) {
  Json traces = Json::array();
  for (const CatalogEntry& one : entries)
    traces.push_back({{"tracePath", one.trace_path},
                      {"state", state_name(one.entry)},
                      {"tags", tags_json(one.entry.manifest.tags)}});
  return {{"trace", std::move(traces)}};
}

Json summary_json(const CatalogEntry& entry) {
  const store::Manifest& manifest = entry.entry.manifest;
  const std::uint64_t ns =
      manifest.end_ns > manifest.begin_ns ? manifest.end_ns - manifest.begin_ns : 0;
  Json json = {
      {"tracePath", entry.trace_path},
      {"state", state_name(entry.entry)},
      {"sourceNode", {{"node", Json::array({Json{{"id", "kernel"}}})}}},
      {"traceStartDateTime", local_time(manifest.begin_real_ns(), "%Y-%m-%d %H:%M")},
      {"traceDuration", text_of(ns / kNsPerSecond)},
      {"traceSize", (entry.entry.events_bytes + kMiB - 1) / kMiB},
      {"tracedEvents", text_of(manifest.events())},
      {"droppedEvents", text_of(manifest.lost())},
      {"queueCount", text_of(static_cast<std::uint64_t>(std::max(manifest.cpu_count, 0)))},
      {"version", manifest.format_version},
      {"tags", tags_json(manifest.tags)},
  };
  if (const auto label = manifest.tags.find("label"); label != manifest.tags.end())
    json["label"] = label->second;
  return json;
}

} // namespace iotrail::compat::iotrace
