// SPDX-License-Identifier: BSD-3-Clause
//
// The snapshots of a trace, one a row, with the number of differences of a delta.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kSnapshotsTakenColumns[] = {
    {.title = "kind", .name = "kind"},
    {.title = "found", .name = "found", .meaning = Meaning::count},
    {.title = "differences",
     .name = "differences",
     .meaning = Meaning::count,
     .omit = Omit::if_unknown},
    {.title = "not entered",
     .name = "left_out",
     .meaning = Meaning::count,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .drop_priority = 1},
    {.title = "took", .name = "took_ns", .meaning = Meaning::ns},
    {.title = "state", .name = "state"},
    {.title = "below", .name = "path", .meaning = Meaning::path, .omit = Omit::if_unknown},
};
constexpr std::string_view kSnapshotsTakenSql = R"(
SELECT s.*, CASE WHEN s.is_delta = 1 THEN coalesce(f.files, 0) END AS differences,
       CASE WHEN s.is_complete = 1 THEN 'whole' ELSE 'not finished' END AS state
FROM snapshots AS s
  LEFT JOIN (SELECT snapshot, count(*) AS files FROM snapshot_files GROUP BY snapshot) AS f ON s.snapshot = f.snapshot)";

} // namespace

SectionDefinition snapshots_taken_section() {
  return {.id = "snapshots_taken",
          .ranks = {.snapshot = 10},
          .title = "What was taken",
          .view = "snapshots",
          .sql = kSnapshotsTakenSql,
          .order = "snapshot",
          .columns = kSnapshotsTakenColumns};
}

} // namespace iotrail::output
