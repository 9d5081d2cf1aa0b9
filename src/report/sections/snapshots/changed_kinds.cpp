// SPDX-License-Identifier: BSD-3-Clause
//
// The differences of deltas by kind.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kChangedKindsColumns[] = {
    {.title = "", .name = "difference"},
    {.title = "files", .name = "files", .meaning = Meaning::count},
    {.title = "type", .name = "type"},
    {.title = "size now", .name = "bytes", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "below", .name = "path_below", .meaning = Meaning::path},
};
constexpr std::string_view kChangedKindsSql = R"(
SELECT s.path AS path_below, f.difference AS difference, coalesce(f.type, 'not known') AS type, count(*) AS files,
       total(f.bytes) AS bytes
FROM snapshot_files AS f JOIN snapshots AS s ON f.snapshot = s.snapshot
WHERE s.is_delta = 1
GROUP BY s.path, f.difference, f.type)";

} // namespace

SectionDefinition changed_kinds_section() {
  return {.id = "changed_kinds",
          .ranks = {.snapshot = 20},
          .title = "What changed",
          .view = "snapshot_files",
          .sql = kChangedKindsSql,
          .order = "path_below, difference, files DESC, type",
          .columns = kChangedKindsColumns};
}

} // namespace iotrail::output
