// SPDX-License-Identifier: BSD-3-Clause
//
// The largest files that deltas name.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kChangedFilesColumns[] = {
    {.title = "", .name = "difference"},
    {.title = "size now", .name = "bytes", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "type", .name = "type", .drop_priority = 1},
    {.title = "file", .name = "path", .meaning = Meaning::path},
};
constexpr std::string_view kChangedFilesSql = R"(
SELECT f.difference AS difference, f.bytes AS bytes, f.type AS type, f.path AS path, f.ts_ns AS ts_ns
FROM snapshot_files AS f JOIN snapshots AS s ON f.snapshot = s.snapshot
WHERE s.is_delta = 1)";

void note_changed_files(const SectionRows&, const store::TraceReader&, Section& section) {
  note_rest(section, "changes");
}

} // namespace

SectionDefinition changed_files_section() {
  return {.id = "changed_files",
          .ranks = {.snapshot = 30},
          .title = "Changed files",
          .view = "snapshot_files",
          .sql = kChangedFilesSql,
          .order = "bytes DESC, path, ts_ns",
          .order_label = "size",
          .rows = 10,
          .columns = kChangedFilesColumns,
          .add_notes = note_changed_files};
}

} // namespace iotrail::output
