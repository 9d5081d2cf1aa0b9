// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/relations.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/ranges.h>

#include "analysis/decode.hpp"
#include "analysis/sql_text.hpp"

namespace iotrail::analysis {

namespace {

constexpr std::uint64_t kCachePageBytes = 4096; // cache.def counts in these

const store::ColumnInfo* find_column(const store::TableInfo& table, std::string_view name,
                                     std::initializer_list<std::string_view> meanings) {
  const int index = table.column(name);
  if (index < 0)
    return nullptr;
  const store::ColumnInfo& column = table.columns[static_cast<std::size_t>(index)];
  return std::ranges::find(meanings, column.meaning) != meanings.end() ? &column : nullptr;
}

// The `nth` column with a meaning, counted from 0; nullptr: there are not so many.
const store::ColumnInfo* nth_column(const store::TableInfo& table, std::string_view meaning,
                                    std::size_t nth) {
  for (const store::ColumnInfo& column : table.columns)
    if (column.meaning == meaning && nth-- == 0)
      return &column;
  return nullptr;
}

std::string key_sql(const store::TableInfo& table, std::string_view meaning, std::size_t nth) {
  const store::ColumnInfo* column = nth_column(table, meaning, nth);
  return column ? sql_name(column->name) : "CAST(0 AS UINTEGER)";
}

std::string header_sql(const store::TableInfo& table, std::string_view name,
                       std::string_view type) {
  return table.column(name) >= 0 ? std::string(name) : fmt::format("CAST(0 AS {})", type);
}

std::string duration_sql(const store::TableInfo& table) {
  return find_column(table, "duration_ns", {"duration_ns"}) ? "duration_ns"
                                                            : "CAST(NULL AS UBIGINT)";
}

std::string error_sql(const store::TableInfo& table) {
  for (const char* name : {"result", "error"})
    if (find_column(table, name, {"result", "result_fd", "error"}))
      return fmt::format("CAST(least({}, 0) AS INTEGER)", name);
  return "CAST(0 AS INTEGER)";
}

std::string bytes_sql(const store::TableInfo& table) {
  if (find_column(table, "bytes_requested", {"bytes"}) && find_column(table, "result", {"result"}))
    return "CAST(greatest(result, 0) AS UBIGINT)";
  if (find_column(table, "pages", {"pages"}) && nth_column(table, "page_index", 0))
    return fmt::format("CAST(pages AS UBIGINT) * {}", kCachePageBytes);
  if (find_column(table, "bytes", {"bytes"}) && nth_column(table, "sector", 0))
    return "nullif(CAST(bytes AS UBIGINT), 0)"; // a flush moves none
  return "CAST(NULL AS UBIGINT)";
}

// Block operations by name: the low bits of their flags.
std::string block_operation_sql(const store::ColumnInfo& flags) {
  std::string sql = fmt::format("CASE {} & 255", sql_name(flags.name));
  for (const schema::Value& value : schema::kValues)
    if (value.table == "block")
      sql += fmt::format(" WHEN {} THEN {}", value.number, sql_literal(value.name));
  return sql + " ELSE 'other' END";
}

std::string call_sql(const store::TableInfo& table) {
  const int call = table.column("call");
  const bool named =
      call >= 0 && !value_table_of(table.columns[static_cast<std::size_t>(call)].meaning).empty();
  return named ? "call" : "CAST(NULL AS VARCHAR)";
}

// fflush hands a stream's buffer to the kernel; nobody waits for a device.
constexpr std::string_view kAppSyncClassSql =
    "CASE WHEN call LIKE 'fflush%' THEN 'flush' ELSE 'sync' END";

std::string class_sql(const store::TableInfo& table) {
  const store::ColumnInfo* flags = nth_column(table, "flags_block", 0);
  if (flags && find_column(table, "duration_ns", {"duration_ns"}))
    return block_operation_sql(*flags);
  if (table.name == "app_sync" && call_sql(table) == "call")
    return std::string(kAppSyncClassSql);
  std::string_view name = table.name;
  if (name.starts_with(table.layer + "_"))
    name.remove_prefix(table.layer.size() + 1);
  return sql_literal(name);
}

std::string event_rows_sql(const store::TableInfo& table) {
  return fmt::format(
      "SELECT {} AS layer, {} AS event, {} AS class, {} AS call, {} AS op_id, {} AS pid, {} AS tid,"
      " {} AS cpu, {} AS ts_ns, {} AS duration_ns, {} AS bytes, {} AS error, {} AS file,"
      " {} AS to_file, {} AS path FROM {}()",
      sql_literal(table.layer), sql_literal(table.name), class_sql(table), call_sql(table),
      header_sql(table, "op_id", "UBIGINT"), header_sql(table, "pid", "UINTEGER"),
      header_sql(table, "tid", "UINTEGER"), header_sql(table, "cpu", "USMALLINT"),
      header_sql(table, "ts_ns", "UBIGINT"), duration_sql(table), bytes_sql(table),
      error_sql(table), key_sql(table, "file", 0), key_sql(table, "file", 1),
      key_sql(table, "path", 0), sql_name(table.name));
}

bool is_dictionary(const store::TableInfo& table) {
  return table.layer == schema::layer_name(static_cast<std::uint32_t>(schema::Layer::dictionary));
}

std::string manifest_rows_sql(const store::Manifest& manifest) {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"state", std::string(store::state_name(manifest.state))},
      {"stop_reason", manifest.stop_reason},
      {"command", fmt::format("{}", fmt::join(manifest.command, " "))},
      {"command_status", fmt::format("{}", manifest.command_status)},
      {"host", manifest.host},
      {"kernel", manifest.kernel},
      {"machine", manifest.machine},
      {"cpu_count", fmt::format("{}", manifest.cpu_count)},
      {"trace_id", manifest.trace_id},
      {"iotrail_version", manifest.iotrail_version},
      {"format_version", fmt::format("{}", manifest.format_version)},
      {"begin_ns", fmt::format("{}", manifest.begin_ns)},
      {"end_ns", fmt::format("{}", manifest.end_ns)},
      {"monotonic_to_real_ns", fmt::format("{}", manifest.monotonic_to_real_ns)},
      {"layers", fmt::format("{}", fmt::join(manifest.layers, ","))},
      {"filters", fmt::format("{}", fmt::join(manifest.filters, "; "))},
      {"limits", fmt::format("{}", fmt::join(manifest.limits, "; "))},
      {"events_bytes", fmt::format("{}", manifest.events_bytes)},
      {"recorder_cpu_ns", fmt::format("{}", manifest.recorder_cpu_ns)},
      {"recorder_memory_bytes", fmt::format("{}", manifest.recorder_memory_bytes)},
      {"ring_memory_bytes", fmt::format("{}", manifest.ring_memory_bytes)},
  };
  for (const auto& [name, value] : manifest.tags)
    rows.emplace_back("tag." + name, value);
  std::string sql = "CREATE TABLE manifest (\"key\" VARCHAR, value VARCHAR);\n";
  for (const auto& [key, value] : rows)
    sql += fmt::format("INSERT INTO manifest VALUES ({}, {});\n", sql_literal(key),
                       sql_literal(value));
  return sql;
}

std::string hook_rows_sql(const store::Manifest& manifest) {
  std::string sql = "CREATE TABLE hooks (event VARCHAR, source VARCHAR, tier VARCHAR, hook VARCHAR,"
                    " reason VARCHAR, remedy VARCHAR);\n";
  for (const store::HookReport& hook : manifest.hooks)
    sql += fmt::format("INSERT INTO hooks VALUES ({}, {}, {}, {}, {}, {});\n",
                       sql_literal(hook.event), sql_literal(hook.source), sql_literal(hook.tier),
                       sql_literal(hook.hook), sql_literal(hook.reason), sql_literal(hook.remedy));
  return sql;
}

std::string_view severity_name(schema::Severity severity) {
  switch (severity) {
  case schema::Severity::info:
    return "info";
  case schema::Severity::error:
    return "error";
  case schema::Severity::loss:
    return "loss";
  }
  return "loss";
}

// A counter that this version does not know is taken for the worst.
std::string counter_rows_sql(const store::Manifest& manifest) {
  std::string sql = "CREATE TABLE counters (counter VARCHAR, source VARCHAR, severity VARCHAR,"
                    " value UBIGINT, doc VARCHAR);\n";
  auto unknown = manifest.counters;
  for (const schema::Counter& counter : schema::kCounters) {
    const auto found = manifest.counters.find(std::string(counter.name));
    const std::uint64_t value = found == manifest.counters.end() ? 0 : found->second;
    unknown.erase(std::string(counter.name));
    sql +=
        fmt::format("INSERT INTO counters VALUES ({}, {}, {}, {}, {});\n",
                    sql_literal(counter.name), sql_literal(value_text("source", counter.source)),
                    sql_literal(severity_name(counter.severity)), value, sql_literal(counter.doc));
  }
  for (const auto& [name, value] : unknown)
    sql += fmt::format("INSERT INTO counters VALUES ({}, '', 'loss', {}, "
                       "'Not known to this version of iotrail.');\n",
                       sql_literal(name), value);
  return sql;
}

std::string source_rows_sql(const store::Manifest& manifest) {
  std::string sql = "CREATE TABLE source_tallies (source VARCHAR, produced UBIGINT,"
                    " written UBIGINT, lost UBIGINT);\n";
  for (const store::SourceTally& source : manifest.sources)
    sql += fmt::format("INSERT INTO source_tallies VALUES ({}, {}, {}, {});\n",
                       sql_literal(source.name), source.produced, source.written, source.lost);
  return sql;
}

} // namespace

std::string table_views_sql(const store::TraceReader& reader) {
  std::string sql;
  for (const store::TableInfo& table : reader.tables())
    sql += fmt::format("CREATE VIEW {0} AS SELECT * FROM {0}();\n", sql_name(table.name));
  return sql;
}

std::string table_list_sql(const store::TraceReader& reader) {
  std::string sql = "CREATE TABLE tables (name VARCHAR, layer VARCHAR, row_count UBIGINT,"
                    " first_ns UBIGINT, last_ns UBIGINT);\n";
  for (const store::TableInfo& table : reader.tables()) {
    std::uint64_t rows = 0;
    std::uint64_t first_ns = UINT64_MAX;
    std::uint64_t last_ns = 0;
    for (const store::BlockInfo& block : reader.blocks())
      if (block.kind == table.kind) {
        rows += block.rows;
        first_ns = std::min(first_ns, block.first_ns);
        last_ns = std::max(last_ns, block.last_ns);
      }
    sql += fmt::format("INSERT INTO tables VALUES ({}, {}, {}, {}, {});\n", sql_literal(table.name),
                       sql_literal(table.layer), rows, rows == 0 ? 0 : first_ns, last_ns);
  }
  return sql;
}

std::string events_view_sql(const store::TraceReader& reader) {
  std::vector<std::string> parts;
  for (const store::TableInfo& table : reader.tables())
    if (!is_dictionary(table))
      parts.push_back(event_rows_sql(table));
  if (parts.empty())
    return {};
  return fmt::format("CREATE VIEW events AS\n{};\n", fmt::join(parts, "\nUNION ALL\n"));
}

std::string manifest_tables_sql(const store::Manifest& manifest) {
  return manifest_rows_sql(manifest) + hook_rows_sql(manifest) + counter_rows_sql(manifest) +
         source_rows_sql(manifest);
}

} // namespace iotrail::analysis
