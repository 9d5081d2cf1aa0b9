// SPDX-License-Identifier: BSD-3-Clause
#include "report/diff/runs.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/coverage.hpp"
#include "report/small_result.hpp"
#include "report/snapshot_report.hpp"
#include "report/trace_facts.hpp"
#include "report/warnings.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kBy[] = {"operation", "file", "process", "device"};

// Columns key, name, op, ts_ns, duration_ns, bytes, error.
std::string_view operations_sql(DiffBy by) {
  switch (by) {
  case DiffBy::call:
    return "SELECT coalesce(call, class) AS key, coalesce(call, class) AS name, op_id AS op, "
           "ts_ns, "
           "duration_ns, bytes, error FROM file_calls";
  case DiffBy::file:
    return "SELECT coalesce(folded_path(path), '(no path)') AS key, coalesce(path, '(no path)') AS "
           "name, op_id AS op, ts_ns, duration_ns, bytes, error FROM file_calls";
  case DiffBy::process:
    return "SELECT program AS key, program AS name, op_id AS op, ts_ns, duration_ns, bytes, error "
           "FROM file_calls";
  case DiffBy::device:
    return "SELECT d.name || ' ' || choice_text('block', q.flags) AS key, key AS name, q.request "
           "AS "
           "op, q.ts_ns AS ts_ns, q.duration_ns AS duration_ns, q.bytes AS bytes, q.error AS error "
           "FROM requests AS q JOIN devices AS d ON q.device = d.device";
  }
  return {};
}

// One row per group, and one for all operations. The sample is random but the same each time: the
// durations with the smallest hashes. Only the groups that are kept have one: thousands of samples
// would not fit into memory.
std::string groups_sql(DiffBy by) {
  return fmt::format(
      "WITH operations AS ({}), groups AS ("
      "SELECT key, grouping(key) AS is_all, nullif(min(name), key) AS first_name, "
      "nullif(max(name), min(name)) AS last_name, count(*) AS count, "
      "total(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS errors, "
      "coalesce(total(duration_ns), 0) AS total_ns, coalesce(total(bytes), 0) AS bytes, "
      "max(duration_ns) AS max_ns, quantile_disc(duration_ns, [0.5, 0.9, 0.99, 0.999]) AS "
      "quantiles FROM operations "
      "WHERE duration_ns IS NOT NULL GROUP BY GROUPING SETS ((key), ()) "
      "ORDER BY is_all DESC, total_ns DESC, key LIMIT {}), "
      "in_turn AS (SELECT key, duration_ns, "
      "row_number() OVER (PARTITION BY key ORDER BY hash(op, ts_ns)) AS place "
      "FROM operations WHERE duration_ns IS NOT NULL), "
      "samples AS (SELECT i.key AS key, list(i.duration_ns) AS sample FROM in_turn AS i "
      "SEMI JOIN groups AS g ON i.key = g.key WHERE i.place <= {} GROUP BY i.key) "
      "SELECT g.*, CASE WHEN g.is_all = 1 THEN (SELECT arg_min(duration_ns, hash(op, ts_ns), {}) "
      "FROM operations WHERE duration_ns IS NOT NULL) ELSE s.sample END AS sample "
      "FROM groups AS g LEFT JOIN samples AS s ON g.key = s.key AND g.is_all = 0 "
      "ORDER BY g.is_all DESC, g.total_ns DESC, g.key",
      operations_sql(by), kMostGroups + 1, kSampleSize, kSampleSize);
}

// Of "[1, 2, 3]"; what is no number is skipped.
std::vector<std::uint64_t> numbers_in(const std::string& json) {
  std::vector<std::uint64_t> numbers;
  const char* at = json.data();
  const char* end = at + json.size();
  while (at != end) {
    std::uint64_t number = 0;
    const auto [stopped, problem] = std::from_chars(at, end, number);
    if (problem == std::errc{})
      numbers.push_back(number);
    at = problem == std::errc{} ? stopped : at + 1;
  }
  return numbers;
}

Operations operations_in(const SmallResult& rows, std::size_t row) {
  Operations operations{.first_name = rows.text(row, "first_name"),
                        .last_name = rows.text(row, "last_name"),
                        .count = rows.number(row, "count"),
                        .errors = rows.number(row, "errors"),
                        .total_ns = rows.number(row, "total_ns"),
                        .bytes = rows.number(row, "bytes"),
                        .max_ns = rows.number(row, "max_ns"),
                        .quantiles_ns = numbers_in(rows.text(row, "quantiles")),
                        .durations_ns = numbers_in(rows.text(row, "sample"))};
  operations.quantiles_ns.resize(std::size(kDiffQuantiles));
  std::ranges::sort(operations.durations_ns);
  return operations;
}

Result<void> read_groups(analysis::Engine& engine, DiffBy by, Run& run) {
  const auto rows = SmallResult::query(engine, groups_sql(by));
  if (!rows)
    return std::unexpected(rows.error());
  run.has_all_groups = rows->size() <= kMostGroups;
  for (std::size_t row = 0; row < rows->size(); ++row)
    if (rows->number(row, "is_all") != 0)
      run.all = operations_in(*rows, row);
    else
      run.groups.emplace(rows->text(row, "key"), operations_in(*rows, row));
  return {};
}

Result<void> read_totals(analysis::Engine& engine, Run& run) {
  const auto length = SmallResult::query(engine, "SELECT duration_ns FROM run");
  if (!length)
    return std::unexpected(length.error());
  run.duration_ns = length->size() == 0 ? 0 : length->number(0, "duration_ns");
  const auto bytes = SmallResult::query(
      engine,
      "SELECT total(CASE WHEN choice_text('block', flags) = 'read' THEN bytes END) AS read, "
      "total(CASE WHEN choice_text('block', flags) = 'write' THEN bytes END) AS written "
      "FROM requests");
  if (!bytes)
    return std::unexpected(bytes.error());
  run.device_read_bytes = bytes->size() == 0 ? 0 : bytes->number(0, "read");
  run.device_written_bytes = bytes->size() == 0 ? 0 : bytes->number(0, "written");
  run.has_devices = layer_not_recorded(engine.trace(), "block").empty();
  return {};
}

} // namespace

std::optional<DiffBy> diff_by(std::string_view name) {
  const auto* found = std::ranges::find(kBy, name);
  if (found == std::end(kBy))
    return std::nullopt;
  return static_cast<DiffBy>(found - std::begin(kBy));
}

analysis::EngineOptions diff_engine_options(analysis::EngineOptions options) {
  options.kept_views = {"file_calls"};
  return options;
}

Result<Run> read_run(analysis::Engine& engine, DiffBy by) {
  const store::TraceReader& trace = engine.trace();
  if (has_sums(trace))
    return fail(fmt::format("{} has sums only, and no single operations", trace.path().string()),
                "`iotrail stat` made it; diff compares traces of `iotrail record`");
  if (is_of_snapshots(trace))
    return fail(fmt::format("{} has snapshots only, and no operations", trace.path().string()),
                "`iotrail snapshot` made it; diff compares traces of `iotrail record`",
                "`iotrail report TRACE` shows what changed between its snapshots.");
  Run run{.trace = trace.path().string(),
          .command = fmt::format("{}", fmt::join(trace.manifest().command, " ")),
          .all = {}};
  run.layers = layers_text(trace.manifest());
  if (const auto read = read_groups(engine, by, run); !read)
    return std::unexpected(read.error());
  if (const auto read = read_totals(engine, run); !read)
    return std::unexpected(read.error());
  run.completeness = completeness_of(trace);
  for (Sentence& warning : answer_warnings(trace)) {
    Sentence named = sentence("{trace}: ", {{"trace", run.trace, Meaning::path}});
    run.warnings.push_back(std::move(named.add(warning.pattern, std::move(warning.values))));
  }
  return run;
}

} // namespace iotrail::output
