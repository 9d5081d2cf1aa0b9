// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/relations.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "analysis/engine/sql_text.hpp"
#include "trail/state/fact.hpp"
#include "value_text.hpp"

namespace iotrail::analysis {

namespace {

std::string narrowed_view_sql(std::string_view view, std::string_view whole,
                              const std::vector<std::string>& conditions) {
  return fmt::format("CREATE VIEW {} AS SELECT * FROM {}{}{};\n", view, whole,
                     conditions.empty() ? "" : " WHERE ", fmt::join(conditions, " AND "));
}

// By its name in SQL, which a foreign trace may use for a column of its own.
bool has_column(const store::TableInfo& table, std::string_view name) {
  return std::ranges::any_of(table.columns, [&](const store::ColumnInfo& column) {
    return schema::column_name(column.name) == name;
  });
}

// A source without rows, which the engine's planner drops early.
std::string no_rows_sql(const store::TableInfo& table) {
  std::string columns;
  for (const store::ColumnInfo& column : table.columns)
    columns += fmt::format("{}CAST(NULL AS {}) AS {}", columns.empty() ? "" : ", ",
                           schema::sql_type(column.type, column.meaning),
                           sql_name(schema::column_name(column.name)));
  return fmt::format("(SELECT {} WHERE false)", columns);
}

// The rows of a table, cast to the column types of this version: a foreign trace may have others.
// Where the operation is a part of flags, as for requests of devices, `class` has it.
std::string table_view_sql(const store::TableInfo& table, bool has_rows) {
  std::vector<std::string> casts;
  if (const schema::Event* event = schema::find_event(table.name))
    for (const schema::Field& field : event->fields) {
      const std::string_view type = schema::sql_type(field.type, field.meaning);
      for (const store::ColumnInfo& column : table.columns)
        if (schema::column_name(column.name) == schema::column_name(field.name) &&
            schema::sql_type(column.type, column.meaning) != type)
          casts.push_back(fmt::format("TRY_CAST({0} AS {1}) AS {0}",
                                      sql_name(schema::column_name(field.name)), type));
    }
  const bool has_class = table.column(schema::Role::operation) && !has_column(table, "class");
  return fmt::format("CREATE VIEW {} AS SELECT *{}{} FROM {};\n", sql_name(table.name),
                     casts.empty() ? "" : fmt::format(" REPLACE ({})", fmt::join(casts, ", ")),
                     has_class ? fmt::format(", {} AS class", class_sql(table)) : "",
                     has_rows ? sql_name(table.name) + "()" : no_rows_sql(table));
}

// A table of this version that the trace is too old to have.
std::string empty_table_sql(const schema::Event& event) {
  std::string columns;
  for (const schema::Field& field : event.fields)
    columns += fmt::format("{}CAST(NULL AS {}) AS {}", columns.empty() ? "" : ", ",
                           schema::sql_type(field.type, field.meaning),
                           sql_name(schema::column_name(field.name)));
  if (std::ranges::find(event.fields, schema::Role::operation, &schema::Field::role) !=
      event.fields.end())
    columns += ", CAST(NULL AS VARCHAR) AS class";
  return fmt::format("CREATE VIEW {} AS SELECT {} WHERE false;\n", sql_name(event.name), columns);
}

// The files that `glob` selects at some time, computed once: otherwise each view would repeat it.
void add_selected_files(LazyRelations& definitions, const std::string& glob) {
  definitions.add(
      "the selected_files",
      fmt::format("CREATE TABLE selected_files AS SELECT file, bool_and(path GLOB {0}) AS "
                  "is_always FROM file_paths GROUP BY file HAVING bool_or(path GLOB {0});\n",
                  glob));
  definitions.add("the selected_paths",
                  fmt::format("CREATE TABLE selected_paths AS SELECT DISTINCT string FROM "
                              "all_path_calls WHERE path GLOB {};\n",
                              glob));
}

// The periods in which a process had the name, computed once. A pid as the name selects all of them.
void add_selected_processes(LazyRelations& definitions, const std::string& name) {
  definitions.add(
      "the selected_processes",
      fmt::format(
          "CREATE TABLE selected_processes AS SELECT selected_pid, since_ns, until_ns FROM (SELECT "
          "pid AS selected_pid, comm, CASE WHEN lag(since_ns) OVER w IS NULL THEN 0 ELSE since_ns "
          "END AS since_ns, coalesce(lead(since_ns) OVER w, CAST(18446744073709551615 AS UBIGINT)) "
          "AS until_ns FROM "
          "processes WINDOW w AS (PARTITION BY pid ORDER BY since_ns)) WHERE comm = {0} OR "
          "CAST(selected_pid AS VARCHAR) = {0};\n",
          name));
}

// Whether the process of the row had that name at the time of that column.
std::string of_selected_process(std::string_view time) {
  return fmt::format("EXISTS (FROM selected_processes AS s WHERE s.selected_pid = pid AND {0} >= "
                     "s.since_ns AND {0} < s.until_ns)",
                     time);
}

// Whether `glob` selects the file of that column by its name at the time `at`.
std::string selected_sql(std::string_view file, std::string_view at, std::string_view glob) {
  return fmt::format("({0} IN (SELECT file FROM selected_files WHERE is_always) OR ({0} IN (SELECT "
                     "file FROM selected_files) AND path_at({0}, {1}) GLOB {2}))",
                     file, at, glob);
}

// A selected system call in a library call that is not selected is outside.
std::string app_calls_sql(bool is_selected) {
  if (!is_selected)
    return "CREATE VIEW selected_app_calls AS FROM found_app_calls();\n";
  return R"(CREATE VIEW selected_app_calls AS
SELECT f.syscall_op AS syscall_op, a.op_id AS app_op, CASE WHEN a.op_id IS NOT NULL THEN f.app_event END AS app_event,
       CASE WHEN a.op_id IS NOT NULL THEN f.app_call END AS app_call, CASE WHEN a.op_id IS NULL THEN 'outside' ELSE f.place END AS place
FROM found_app_calls() AS f
  SEMI JOIN (SELECT op_id FROM events WHERE layer = layer_at('kernel') AND duration_ns IS NOT NULL) AS s ON f.syscall_op = s.op_id
  LEFT JOIN (SELECT DISTINCT op_id FROM events WHERE layer = layer_at('library')) AS a ON f.app_op = a.op_id;
)";
}

// Of selected calls: each call is divided by what all others did meanwhile.
std::string call_parts_sql(bool is_selected) {
  constexpr std::string_view kParts =
      "CREATE VIEW selected_call_parts AS SELECT op_id, step, reason, ns FROM found_call_parts()";
  constexpr std::string_view kCalls =
      " WHERE op_id IN (SELECT op_id FROM events WHERE op_id <> 0 AND duration_ns IS NOT NULL AND "
      "is_asked(layer))";
  return fmt::format("{}{};\n", kParts, is_selected ? kCalls : "");
}

std::string manifest_rows_sql(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  std::vector<std::pair<std::string, std::string>> facts = {
      {"state", std::string(store::state_name(manifest.state))},
      {"stop_reason", manifest.stop_reason},
      {"command", fmt::format("{}", fmt::join(manifest.command, " "))},
      {"command_status", fmt::format("{}", manifest.command_status)},
      {"command_user_ns", fmt::format("{}", manifest.command_user_ns)},
      {"command_system_ns", fmt::format("{}", manifest.command_system_ns)},
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
      {"not_followed", fmt::format("{}", fmt::join(manifest.not_followed, "; "))},
      {"still_running", fmt::format("{}", fmt::join(manifest.still_running, ", "))},
      {"limits", fmt::format("{}", fmt::join(manifest.limits, "; "))},
      {"bare_file_systems", fmt::format("{}", fmt::join(manifest.unsupported_file_systems, ", "))},
      {"events_bytes", fmt::format("{}", manifest.events_bytes)},
      {"recorder_cpu_ns", fmt::format("{}", manifest.recorder_cpu_ns)},
      {"recorder_memory_bytes", fmt::format("{}", manifest.recorder_memory_bytes)},
      {"ring_memory_bytes", fmt::format("{}", manifest.ring_memory_bytes)},
  };
  if (trace.damage().manifest)
    std::erase_if(facts, [](const auto& fact) { return fact.first == "monotonic_to_real_ns"; });
  for (const auto& [name, value] : manifest.tags)
    facts.emplace_back("tag." + name, value);
  std::vector<std::string> rows;
  for (const auto& [key, value] : facts)
    rows.push_back(fmt::format("{}, {}", sql_literal(key), sql_literal(value)));
  return table_sql("manifest", "\"key\" VARCHAR, value VARCHAR", rows);
}

std::string hook_rows_sql(const store::Manifest& manifest) {
  std::vector<std::string> rows;
  for (const store::HookReport& hook : manifest.hooks)
    rows.push_back(fmt::format("{}, {}, {}, {}, {}, {}", sql_literal(hook.event),
                               sql_literal(hook.source), sql_literal(hook.tier),
                               sql_literal(hook.hook), sql_literal(hook.reason),
                               sql_literal(hook.remedy)));
  return table_sql("hooks",
                   "event VARCHAR, source VARCHAR, tier VARCHAR, hook VARCHAR, reason VARCHAR,"
                   " remedy VARCHAR",
                   rows);
}

// A counter that this version does not know gets the worst severity.
std::string counter_rows_sql(const store::Manifest& manifest) {
  std::vector<std::string> rows;
  auto unknown = manifest.counters;
  for (const schema::Counter& counter : schema::kCounters) {
    const auto found = manifest.counters.find(std::string(counter.name));
    const std::uint64_t value = found == manifest.counters.end() ? 0 : found->second;
    unknown.erase(std::string(counter.name));
    rows.push_back(fmt::format("{}, {}, {}, {}, {}", sql_literal(counter.name),
                               sql_literal(schema::value_text("source", counter.source)),
                               sql_literal(schema::severity_name(counter.severity)), value,
                               sql_literal(counter.doc)));
  }
  for (const auto& [name, value] : unknown)
    rows.push_back(fmt::format("{}, '', 'loss', {}, 'Not known to this version of iotrail.'",
                               sql_literal(name), value));
  return table_sql("counters",
                   "counter VARCHAR, source VARCHAR, severity VARCHAR, value UBIGINT, doc VARCHAR",
                   rows);
}

std::string source_rows_sql(const store::Manifest& manifest) {
  std::vector<std::string> rows;
  for (const store::SourceTally& source : manifest.sources)
    rows.push_back(fmt::format("{}, {}, {}, {}", sql_literal(source.name), source.produced,
                               source.written, source.lost));
  return table_sql("source_tallies",
                   "source VARCHAR, produced UBIGINT, written UBIGINT, lost UBIGINT", rows);
}

std::string disk_rows_sql(const store::Manifest& manifest) {
  std::vector<std::string> rows;
  for (const store::DiskReport& disk : manifest.disks)
    rows.push_back(fmt::format(
        "{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}", disk.device, sql_literal(disk.name),
        sql_literal(store::coverage_name(disk.recorded)), disk.begin_ns, disk.end_ns,
        disk.sums.read_bytes, disk.sums.written_bytes, disk.sums.discarded_bytes, disk.sums.flushes,
        disk.in_flight, disk.request_max_bytes));
  return table_sql("disk_counters",
                   "device UINTEGER, name VARCHAR, recorded VARCHAR, begin_ns UBIGINT, "
                   "end_ns UBIGINT, read_bytes UBIGINT, written_bytes UBIGINT, "
                   "discarded_bytes UBIGINT, flushes UBIGINT, in_flight UBIGINT, "
                   "request_max_bytes UBIGINT",
                   rows);
}

} // namespace

std::string macros_sql() {
  return fmt::format("CREATE MACRO bytes_of_pages(pages) AS CAST(least(greatest(pages, 0), {}) AS "
                     "UBIGINT) * {};\n"
                     "CREATE MACRO at_fdcwd() AS {};\n"
                     "CREATE MACRO is_unfinished(error) AS error = {};\n"
                     "CREATE MACRO is_error(error) AS error < 0 AND error <> {};\n",
                     UINT64_MAX / trail::kPageBytes, trail::kPageBytes, IOT_AT_FDCWD,
                     IOT_UNFINISHED, IOT_UNFINISHED);
}

std::vector<store::TableInfo> tables_of(const store::TraceReader& reader) {
  std::vector<store::TableInfo> tables(reader.tables().begin(), reader.tables().end());
  for (store::TableInfo& table : tables)
    if (const schema::Event* event = schema::find_event(table.name))
      for (const schema::Field& field : event->fields)
        if (!has_column(table, schema::column_name(field.name)))
          table.columns.push_back({std::string(field.name), field.type, field.meaning});
  return tables;
}

void add_trace_tables(LazyRelations& definitions, const store::TraceReader& reader, Tables tables) {
  for (const store::TableInfo& table : tables)
    definitions.add(fmt::format("the table {}", table.name),
                    table_view_sql(table, reader.has_rows(table.kind)));
  for (const schema::Event& event : schema::kEvents)
    definitions.add(fmt::format("the table {}", event.name), empty_table_sql(event));
}

void add_finding_rules(LazyRelations& definitions, const Limits& limits) {
  std::vector<std::string> rule_rows;
  std::vector<std::string> limit_rows;
  for (const Rule& rule : finding_rules()) {
    rule_rows.push_back(
        fmt::format("{}, {}, {}, {}, {}, {}, {}", sql_literal(rule.id), sql_literal(rule.name),
                    sql_literal(severity_name(rule.severity)), sql_literal(rule.title),
                    sql_literal(fmt::format("{}", fmt::join(rule.needs, ", "))),
                    sql_literal(rule.sentence), sql_literal(rule.advice)));
    for (const RuleLimit& limit : rule.limits)
      limit_rows.push_back(fmt::format("{}, {}, CAST({} AS DOUBLE), {}", sql_literal(rule.id),
                                       sql_literal(limit.name), limit_value(rule, limit, limits),
                                       sql_literal(limit.meaning)));
    definitions.add(fmt::format("the finding {}", rule.name), rule_view_sql(rule, limits));
  }
  definitions.add("the table finding_rules",
                  table_sql("finding_rules",
                            "id VARCHAR, name VARCHAR, severity VARCHAR, title VARCHAR, "
                            "needs VARCHAR, sentence VARCHAR, advice VARCHAR",
                            rule_rows));
  definitions.add("the table finding_limits",
                  table_sql("finding_limits",
                            "id VARCHAR, name VARCHAR, value DOUBLE, meaning VARCHAR", limit_rows));
}

void add_table_list(LazyRelations& definitions, const store::TraceReader& reader) {
  std::vector<std::string> table_rows;
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
    table_rows.push_back(fmt::format("{}, {}, {}, {}, {}", sql_literal(table.name),
                                     sql_literal(table.layer), rows, rows == 0 ? 0 : first_ns,
                                     last_ns));
  }
  definitions.add(
      "the table tables",
      table_sql("tables",
                "name VARCHAR, layer VARCHAR, row_count UBIGINT, first_ns UBIGINT, last_ns UBIGINT",
                table_rows));
}

void add_selection(LazyRelations& definitions, const Selection& selection,
                   const store::Manifest& manifest) {
  const std::uint64_t from_ns =
      selection.since_ns == 0 ? 0 : manifest.begin_ns + selection.since_ns;
  const std::uint64_t to_ns =
      selection.until_ns == 0 ? UINT64_MAX : manifest.begin_ns + selection.until_ns;
  std::vector<std::string> conditions;
  if (selection.since_ns != 0)
    conditions.push_back(fmt::format("ts_ns >= {}", from_ns));
  if (selection.until_ns != 0)
    conditions.push_back(fmt::format("ts_ns < {}", to_ns));
  std::vector<std::string> link_conditions = conditions;
  if (!selection.process.empty()) {
    add_selected_processes(definitions, sql_literal(selection.process));
    conditions.push_back(of_selected_process("ts_ns"));
    // A process may run another program before its pages are written back.
    link_conditions.push_back(of_selected_process("coalesce(stored_ns, ts_ns)"));
  }
  std::vector<std::string> wait_conditions = conditions;
  if (!selection.file.empty())
    wait_conditions.emplace_back("op_id IN (SELECT op_id FROM events WHERE op_id <> 0)");
  std::vector<std::string> path_conditions = conditions;
  std::vector<std::string> request_conditions = conditions;
  if (!selection.file.empty()) {
    add_selected_files(definitions, sql_literal(selection.file));
    constexpr std::string_view kNamedAt = "named_at(layer, ts_ns, duration_ns)";
    const std::string glob = sql_literal(selection.file);
    conditions.push_back(
        fmt::format("({} OR {} OR file = 0 AND path IN (SELECT string FROM selected_paths))",
                    selected_sql("file", kNamedAt, glob), selected_sql("to_file", kNamedAt, glob)));
    path_conditions.push_back(fmt::format("path GLOB {}", glob));
    for (auto* of_pages : {&link_conditions, &request_conditions})
      of_pages->push_back(selected_sql("file", "ts_ns", glob));
  }
  definitions.add("the selection", table_sql("selection", "from_ns UBIGINT, to_ns UBIGINT",
                                             {fmt::format("{}, {}", from_ns, to_ns)}));
  definitions.add("the view events", narrowed_view_sql("events", "all_events", conditions));
  definitions.add("the view selected_app_calls", app_calls_sql(!conditions.empty()));
  definitions.add("the view selected_call_parts", call_parts_sql(!conditions.empty()));
  definitions.add("the view path_calls",
                  narrowed_view_sql("path_calls", "all_path_calls", path_conditions));
  definitions.add("the view waits", narrowed_view_sql("waits", "all_waits", wait_conditions));
  definitions.add("the view links", narrowed_view_sql("links", "all_links", link_conditions));
  definitions.add("the view file_accesses",
                  narrowed_view_sql("file_accesses", "all_file_accesses", request_conditions));
  definitions.add("the view requests",
                  narrowed_view_sql("requests", "block_complete", request_conditions));
}

void add_manifest_tables(LazyRelations& definitions, const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  definitions.add("the manifest", manifest_rows_sql(trace));
  definitions.add("the table hooks", hook_rows_sql(manifest));
  definitions.add("the table counters", counter_rows_sql(manifest));
  definitions.add("the table source_tallies", source_rows_sql(manifest));
  definitions.add("the table disk_counters", disk_rows_sql(manifest));
}

} // namespace iotrail::analysis
