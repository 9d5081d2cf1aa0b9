// SPDX-License-Identifier: BSD-3-Clause
#include "report/documents/list.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "report/section.hpp"
#include "report/trace_facts.hpp"
#include "store/format/recorder_tags.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kTraceColumns[] = {
    {.title = "trace", .name = "name", .meaning = Meaning::path},
    {.title = "", .name = "path", .meaning = Meaning::path},
    {.title = "state", .name = "state"},
    {.title = "", .name = "is_damaged"},
    {.title = "begin", .name = "begin_real_ns", .meaning = Meaning::date, .drop_priority = 2},
    {.title = "events", .name = "events", .meaning = Meaning::count},
    {.title = "in sums",
     .name = "summed_up",
     .meaning = Meaning::count,
     .omit = Omit::if_zero,
     .zero_is_dash = true},
    {.title = "lost", .name = "lost", .meaning = Meaning::count},
    {.title = "size", .name = "bytes", .meaning = Meaning::bytes, .drop_priority = 1},
    {.title = "command", .name = "_command", .meaning = Meaning::command},
    {.title = "", .name = "command"},
    {.title = "tags",
     .name = "_tags",
     .meaning = Meaning::command,
     .omit = Omit::if_unknown,
     .drop_priority = 3},
    {.title = "", .name = "tags"},
    {.title = "", .name = "problem"},
};

std::string state_of(const ListedTrace& trace) {
  const store::RepositoryEntry& entry = trace.entry;
  if (!entry.problem.empty())
    return trace.is_damaged ? "DAMAGED" : "UNREADABLE";
  return trace.is_damaged && entry.manifest.state == store::State::COMPLETE
             ? "DAMAGED"
             : std::string(store::state_name(entry.manifest.state));
}

Value json_of(const nlohmann::json& json) {
  return JsonText{json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)};
}

std::vector<Value> row_of(const ListedTrace& trace) {
  const auto& [path, name, manifest, bytes, problem] = trace.entry;
  if (!problem.empty()) // its manifest is not known
    return {
        name, path.native(), state_of(trace), trace.is_damaged, {}, {}, {}, {}, bytes, {}, {}, {},
        {},   problem};
  const auto counted = [&](std::uint64_t number) {
    return manifest.is_counted() ? Value(number) : Value();
  };
  const auto tags = store::user_tags(manifest.tags);
  return {name,
          path.native(),
          state_of(trace),
          trace.is_damaged,
          manifest.begin_real_ns(),
          counted(manifest.events()),
          counted(manifest.summed_up()),
          counted(manifest.lost()),
          bytes,
          fmt::format("{}", fmt::join(manifest.command, " ")),
          json_of(manifest.command),
          tags.empty() ? Value() : Value(tags_text(manifest)),
          json_of(tags),
          {}};
}

// Below the table, which has no room for sentences.
void add_problem(const ListedTrace& trace, std::vector<Sentence>& notes) {
  const store::RepositoryEntry& entry = trace.entry;
  if (entry.problem.empty())
    return;
  notes.push_back(
      sentence(trace.is_damaged ? "{name}: {problem}; its events can be read:"
                                : "{name}: {problem}; for more:",
               {{"name", entry.name, Meaning::path}, text_value("problem", entry.problem)}));
  notes.push_back(
      command_on(trace.is_damaged ? "iotrail report {}" : "iotrail info {}", entry.path));
}

void add_none(std::string_view place, std::string_view pattern, std::vector<Sentence>& notes) {
  Sentence none = sentence("No trace");
  if (pattern.ends_with('*'))
    none.add(" with a name like {pattern}", {text_value("pattern", std::string(pattern))});
  notes.push_back(none.add(" in {place}", {{"place", std::string(place), Meaning::path}}));
  if (pattern.empty())
    notes.push_back(sentence("`iotrail list DIRECTORY` lists another directory."));
}

} // namespace

Document make_list(std::span<const ListedTrace> traces, std::string_view place,
                   std::string_view pattern) {
  std::vector<std::vector<Value>> rows;
  for (const ListedTrace& trace : traces)
    rows.push_back(row_of(trace));
  Section section = make_table("traces", "", kTraceColumns, std::move(rows));
  for (const ListedTrace& trace : traces)
    add_problem(trace, section.notes);
  if (traces.empty())
    add_none(place, pattern, section.notes);
  return {.sections = {std::move(section)}, .all_columns = "--wide"};
}

} // namespace iotrail::output
