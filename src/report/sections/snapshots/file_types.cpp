// SPDX-License-Identifier: BSD-3-Clause
//
// The files of full snapshots by type.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kFileTypesColumns[] = {
    {.title = "files", .name = "files", .meaning = Meaning::count},
    {.title = "type", .name = "type"},
    {.title = "size", .name = "bytes", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "on disk",
     .name = "allocated_bytes",
     .meaning = Meaning::bytes,
     .zero_is_dash = true},
    {.title = "below", .name = "path_below", .meaning = Meaning::path},
};
constexpr std::string_view kFileTypesSql = R"(
SELECT s.path AS path_below, coalesce(f.type, 'not known') AS type, count(*) AS files, total(f.bytes) AS bytes,
       total(f.allocated_bytes) AS allocated_bytes
FROM snapshot_files AS f JOIN snapshots AS s ON f.snapshot = s.snapshot
WHERE s.is_delta = 0
GROUP BY s.path, f.type)";

} // namespace

SectionDefinition file_types_section() {
  return {.id = "file_types",
          .ranks = {.snapshot = 40},
          .title = "Files by type",
          .view = "snapshot_files",
          .sql = kFileTypesSql,
          .order = "path_below, files DESC, type",
          .columns = kFileTypesColumns};
}

} // namespace iotrail::output
