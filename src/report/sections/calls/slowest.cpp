// SPDX-License-Identifier: BSD-3-Clause
//
// The slowest operations on files, layer by layer.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kSlowestColumns[] = {
    {.title = "layer", .name = "layer", .suppress_repeats = true},
    {.title = "took", .name = "duration_ns", .meaning = Meaning::ns},
    {.title = "at second", .name = "at_second", .meaning = Meaning::second},
    {.title = "call", .name = "_call"},
    {.title = "result", .name = "bytes", .meaning = Meaning::bytes, .instead = "error_name"},
    {.title = "process", .name = "_process", .drop_priority = 1},
    {.title = "file", .name = "path", .meaning = Meaning::path},
};
constexpr std::string_view kSlowestSql = R"(
SELECT s.*, d.depth AS _depth, CASE WHEN ts_ns > begin_ns THEN (ts_ns - begin_ns) / 1e9 ELSE 0e0 END AS at_second,
       coalesce(nullif(call, ''), operation) AS _call, errno_name(error) AS error_name,
       CASE WHEN coalesce(comm, '') = '' THEN CAST(pid AS VARCHAR) ELSE comm || '[' || pid || ']' END AS _process
FROM slowest AS s
  CROSS JOIN (SELECT CAST(value AS UBIGINT) AS begin_ns FROM manifest WHERE "key" = 'begin_ns') AS start
  LEFT JOIN layer_list AS d ON s.layer = d.layer)";

} // namespace

SectionDefinition slowest_section() {
  return {.id = "slowest",
          .ranks = {.report = 200},
          .title = "Slowest operations on files",
          .view = "slowest",
          .sql = kSlowestSql,
          .order = "duration_ns DESC, ts_ns",
          .group = "layer",
          .group_order = kLayerOrder,
          .rows = 5,
          .columns = kSlowestColumns};
}

} // namespace iotrail::output
