// SPDX-License-Identifier: BSD-3-Clause
#include "report/failed_section.hpp"

namespace iotrail::output {

namespace {

constexpr SectionColumn kFailedColumns[] = {
    {.title = "layer", .name = "layer", .when = When::changed},
    {.title = "call", .name = "what"},
    {.title = "error", .name = "error"},
    {.title = "calls", .name = "calls", .show = Show::count, .is_sum = true},
    {.title = "time", .name = "total_ns", .show = Show::duration, .rank = 2, .is_sum = true},
    {.title = "files", .name = "paths", .show = Show::count_or_dash, .rank = 1},
    {.title = "most of them on", .name = "path", .fit = Fit::middle},
};
constexpr std::string_view kFailedSql = R"(
WITH
  kinds AS MATERIALIZED (
    SELECT layer, coalesce(nullif(call, ''), class) AS what, error, total(calls) AS calls, total(total_ns) AS total_ns,
           count(DISTINCT path) AS paths, first(path ORDER BY calls DESC, path) AS path
    FROM errors
    GROUP BY layer, coalesce(nullif(call, ''), class), error
  ),
  sums AS (SELECT count(*) AS all_rows FROM kinds)
SELECT k.*, d.depth AS depth, a.all_rows AS all_rows
FROM kinds AS k CROSS JOIN sums AS a LEFT JOIN layer_list AS d ON k.layer = d.layer)";

void note_failed(const SmallResult& rows, const store::TraceReader&, Sink& sink, std::size_t) {
  note_rest(rows, sink, "kinds of failures");
}

} // namespace

Section failed_section() {
  return {.name = "failed_calls",
          .title = "Calls that failed",
          .view = "errors",
          .sql = kFailedSql,
          .order = "calls DESC, depth NULLS LAST, what, error",
          .rows = 5,
          .columns = kFailedColumns,
          .add_notes = note_failed};
}

} // namespace iotrail::output
