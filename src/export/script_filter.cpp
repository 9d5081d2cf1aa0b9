// SPDX-License-Identifier: BSD-3-Clause
#include "export/script_filter.hpp"

#include <fnmatch.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/capped_sum.hpp"
#include "schema.hpp"
#include "value_text.hpp"

namespace iotrail::output {
namespace {

constexpr std::size_t kMostOperations = 32U << 20U; // in 256 MiB
constexpr std::string_view kCallAlone = "call:";
constexpr std::string_view kDeleted = " (deleted)";

std::uint64_t value_of(const store::EventStream& event, schema::Role role) {
  const int column = event.table().index(role);
  return column < 0 ? 0 : event.number(static_cast<std::size_t>(column));
}

bool matches(const std::string& pattern, std::string_view path) {
  if (path.ends_with(kDeleted))
    path.remove_suffix(kDeleted.size());
  return !path.empty() && ::fnmatch(pattern.c_str(), std::string(path).c_str(), FNM_NOESCAPE) == 0;
}

// Tables with a row for each call of a program.
std::vector<iot_u16> kinds_of_calls(const store::TraceReader& trace) {
  std::vector<iot_u16> kinds;
  for (const store::TableInfo& table : trace.tables())
    if (!table.is_dictionary() && table.column(schema::Role::call) != nullptr &&
        table.column(schema::Role::op) != nullptr && trace.has_rows(table.kind))
      kinds.push_back(table.kind);
  return kinds;
}

} // namespace

Result<ScriptFilter> ScriptFilter::make(const store::TraceReader& trace,
                                        const analysis::TraceDictionaries& dictionaries,
                                        const ScriptSelection& selection) {
  ScriptFilter filter(trace, dictionaries, selection);
  if (!selection.operations.empty())
    if (const auto found = filter.find_operations(trace); !found)
      return std::unexpected(found.error());
  return filter;
}

ScriptFilter::ScriptFilter(const store::TraceReader& trace,
                           const analysis::TraceDictionaries& dictionaries,
                           const ScriptSelection& selection)
    : dictionaries_(dictionaries), selection_(selection),
      from_ns_(capped_sum(trace.manifest().begin_ns, selection.since_ns)),
      to_ns_(selection.until_ns == 0 ? UINT64_MAX
                                     : capped_sum(trace.manifest().begin_ns, selection.until_ns)) {
  if (selection.since_ns == 0)
    from_ns_ = 0;
}

Result<void> ScriptFilter::find_operations(const store::TraceReader& trace) {
  const std::vector<iot_u16> kinds = kinds_of_calls(trace);
  if (kinds.empty())
    return {};
  store::EventStream events(trace, kinds);
  while (events.next()) {
    const std::uint64_t op = value_of(events, schema::Role::op);
    if (op == 0 || !is_named(events) || !has_own_facts(events))
      continue;
    if (operations_.size() == kMostOperations)
      return fail(fmt::format("more than {} operations match", kMostOperations), {},
                  "Narrow them down with --since and --until.");
    operations_.push_back(op);
  }
  std::ranges::sort(operations_);
  return {};
}

bool ScriptFilter::selects(const store::EventStream& event) const {
  if (selection_.operations.empty())
    return has_own_facts(event);
  return std::ranges::binary_search(operations_, value_of(event, schema::Role::op)) ||
         std::ranges::binary_search(operations_, value_of(event, schema::Role::parent_op));
}

bool ScriptFilter::has_own_facts(const store::EventStream& event) const {
  if (event.time_ns() < from_ns_ || event.time_ns() >= to_ns_)
    return false;
  if (!selection_.process.empty()) {
    const std::uint64_t pid = value_of(event, schema::Role::pid);
    if (dictionaries_.comm(pid, event.time_ns()) != selection_.process &&
        fmt::format("{}", pid) != selection_.process)
      return false;
  }
  return selection_.file.empty() || is_of_file(event);
}

// By the name at the time, or by a path as the call gave it.
bool ScriptFilter::is_of_file(const store::EventStream& event) const {
  const std::uint64_t at_ns = analysis::naming_time_ns(event);
  for (std::size_t i = 0; i < event.table().columns.size(); ++i) {
    const schema::Meaning meaning = event.table().columns[i].meaning;
    const std::uint64_t key = event.number(i);
    if (key == 0)
      continue;
    if (meaning == schema::Meaning::file &&
        matches(selection_.file, dictionaries_.file(key, at_ns)))
      return true;
    if (meaning == schema::Meaning::path && matches(selection_.file, dictionaries_.text(key)))
      return true;
  }
  return false;
}

bool ScriptFilter::is_named(const store::EventStream& event) const {
  const store::ColumnInfo* column = event.table().column(schema::Role::call);
  const schema::Event* known = schema::find_event(event.table().name);
  if (column == nullptr || known == nullptr)
    return false;
  const std::string call =
      schema::number_text(column->meaning, value_of(event, schema::Role::call));
  const std::string_view class_name = schema::class_name(*known, call);
  return std::ranges::any_of(selection_.operations, [&](std::string_view name) {
    return name.starts_with(kCallAlone) ? name.substr(kCallAlone.size()) == call
                                        : name == call || name == class_name;
  });
}

} // namespace iotrail::output
