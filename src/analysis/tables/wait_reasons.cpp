// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/wait_reasons.hpp"

#include <algorithm>
#include <vector>

#include "schema.hpp"
#include "store/reader/event_stream.hpp"
#include "wait_text.hpp"

namespace iotrail::analysis {

namespace {

// Calls `row(stream)` for each row of these columns of one table.
template <class Row>
void for_each(const store::TraceReader& trace, const store::TableInfo* table,
              const std::vector<int>& columns, Row row) {
  if (table == nullptr || std::ranges::find(columns, -1) != columns.end() ||
      !trace.has_rows(table->kind))
    return;
  for (store::EventStream events(trace, {{table->kind, columns}}); events.next();)
    row(events);
}

std::size_t column_at(int column) {
  return static_cast<std::size_t>(column);
}

} // namespace

std::span<const std::string_view> wait_reasons_in_order() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> made;
    for (const schema::WaitReason& reason : schema::wait_reasons())
      made.push_back(reason.name);
    std::ranges::sort(made);
    return made;
  }();
  return names;
}

ReasonNumber reason_number(std::string_view name) {
  const auto names = wait_reasons_in_order();
  const auto found = std::ranges::lower_bound(names, name);
  return found == names.end() || *found != name ? kNoReason
                                                : static_cast<ReasonNumber>(found - names.begin());
}

std::span<const std::string_view> served_file_systems() {
  struct FileSystem {
    std::string_view type;
    bool is_served;
  };
  static constexpr FileSystem kFileSystems[] = {
#define FILE_SYSTEM(type, magic, has_events, syncs_writes, is_served) {#type, (is_served) != 0},
#include "file_systems.def"
  };
  static const std::vector<std::string_view> types = [] {
    std::vector<std::string_view> made;
    for (const FileSystem& row : kFileSystems)
      if (row.is_served)
        made.push_back(row.type);
    return made;
  }();
  return types;
}

WaitReasons::WaitReasons(const store::TraceReader& trace) {
  read_waits(trace);
  if (waiting_.empty() && reasons_.empty())
    return;
  read_stacks(trace);
  read_served(trace);
}

void WaitReasons::read_waits(const store::TraceReader& trace) {
  const store::TableInfo* table = trace.table("sched_wait");
  if (table == nullptr)
    return;
  const std::vector<int> columns = {table->column("stack"), table->index(schema::Role::op)};
  const ReasonNumber unknown = reason_number(schema::wait_reason(""));
  for_each(trace, table, columns, [&](const store::EventStream& events) {
    reasons_.try_emplace(events.number(column_at(columns[0])), unknown);
    waiting_.insert(events.number(column_at(columns[1])));
  });
}

void WaitReasons::read_stacks(const store::TraceReader& trace) {
  const store::TableInfo* table = trace.table("strings");
  if (table == nullptr)
    return;
  const std::vector<int> columns = {table->column("string"), table->column("text")};
  for_each(trace, table, columns, [&](const store::EventStream& events) {
    if (const auto found = reasons_.find(events.number(column_at(columns[0])));
        found != reasons_.end())
      found->second = reason_number(schema::wait_reason(events.text(column_at(columns[1]))));
  });
}

void WaitReasons::read_served(const store::TraceReader& trace) {
  using enum schema::Role;
  const store::TableInfo* table = trace.table("files");
  if (table == nullptr)
    return;
  std::unordered_set<std::uint64_t> files;
  const std::vector<int> columns = {table->column("file"), table->column("file_system")};
  const auto types = served_file_systems();
  for_each(trace, table, columns, [&](const store::EventStream& events) {
    if (std::ranges::find(types, events.text(column_at(columns[1]))) != types.end())
      files.insert(events.number(column_at(columns[0])));
  });
  if (files.empty())
    return;
  for (const store::TableInfo& each : trace.tables()) {
    const std::vector<int> keys = {each.index(op), each.index(file), each.index(duration)};
    if (!each.is_dictionary())
      for_each(trace, &each, keys, [&](const store::EventStream& events) {
        if (files.contains(events.number(column_at(keys[1]))))
          served_.insert(events.number(column_at(keys[0])));
      });
  }
}

ReasonNumber WaitReasons::reason(std::uint64_t stack, std::uint64_t op_id) const {
  static const ReasonNumber page_read = reason_number("page_read");
  static const ReasonNumber write_back = reason_number("write_back");
  static const ReasonNumber server = reason_number("server");
  const auto found = reasons_.find(stack);
  const ReasonNumber reason = found == reasons_.end() ? kNoReason : found->second;
  return (reason == page_read || reason == write_back) && op_id != 0 && served_.contains(op_id)
             ? server
             : reason;
}

} // namespace iotrail::analysis
