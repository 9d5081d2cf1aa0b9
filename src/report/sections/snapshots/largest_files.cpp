// SPDX-License-Identifier: BSD-3-Clause
//
// The largest files of full snapshots.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kLargestFilesColumns[] = {
    {.title = "size", .name = "bytes", .meaning = Meaning::bytes},
    {.title = "on disk", .name = "allocated_bytes", .meaning = Meaning::bytes},
    {.title = "file", .name = "path", .meaning = Meaning::path},
};
constexpr std::string_view kLargestFilesSql = R"(
SELECT f.bytes AS bytes, f.allocated_bytes AS allocated_bytes, f.path AS path
FROM snapshot_files AS f JOIN snapshots AS s ON f.snapshot = s.snapshot
WHERE s.is_delta = 0 AND f.type = 'regular')";

void note_largest_files(const SectionRows&, const store::TraceReader&, Section& section) {
  note_rest(section, "files");
}

} // namespace

SectionDefinition largest_files_section() {
  return {.id = "largest_files",
          .ranks = {.snapshot = 50},
          .title = "Largest files",
          .view = "snapshot_files",
          .sql = kLargestFilesSql,
          .order = "allocated_bytes DESC, bytes DESC, path",
          .order_label = "space on disk",
          .rows = 5,
          .columns = kLargestFilesColumns,
          .add_notes = note_largest_files};
}

} // namespace iotrail::output
