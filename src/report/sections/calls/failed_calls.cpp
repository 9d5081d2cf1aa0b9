// SPDX-License-Identifier: BSD-3-Clause
//
// Failed calls, by call and error.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kFailedColumns[] = {
    {.title = "layer", .name = "layer", .suppress_repeats = true},
    {.title = "call", .name = "call"},
    {.title = "error", .name = "error"},
    {.title = "calls", .name = "calls", .meaning = Meaning::count, .is_sum = true},
    {.title = "time",
     .name = "total_ns",
     .meaning = Meaning::ns,
     .drop_priority = 2,
     .is_sum = true},
    {.title = "files",
     .name = "paths",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 1},
    {.title = "most of them on", .name = "path", .meaning = Meaning::path},
};
constexpr std::string_view kFailedSql = R"(
WITH
  kinds AS (
    SELECT layer, coalesce(nullif(call, ''), class) AS call, error, total(calls) AS calls, total(total_ns) AS total_ns,
           count(DISTINCT path) AS paths, first(path ORDER BY calls DESC, path) AS path
    FROM errors
    GROUP BY layer, coalesce(nullif(call, ''), class), error
  )
SELECT k.*, d.depth AS _depth FROM kinds AS k LEFT JOIN layer_list AS d ON k.layer = d.layer)";

void note_failed(const SectionRows&, const store::TraceReader&, Section& section) {
  note_rest(section, "kinds of failures");
}

} // namespace

SectionDefinition failed_calls_section() {
  return {.id = "failed_calls",
          .ranks = {.report = 50},
          .title = "Calls that failed",
          .view = "errors",
          .sql = kFailedSql,
          .order = "calls DESC, _depth NULLS LAST, call, error",
          .rows = 5,
          .columns = kFailedColumns,
          .add_notes = note_failed};
}

} // namespace iotrail::output
