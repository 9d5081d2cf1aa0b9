// SPDX-License-Identifier: BSD-3-Clause
//
// Files by their aggregates. Counted at the system calls or, if these were not recorded, below.
#include "report/columns.hpp"
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kStatFileColumns[] = {
    kCountColumn,
    kErrorsColumn,
    kReadColumn,
    kWrittenColumn,
    kTotalColumn,
    kMaxColumn,
    {.title = "inodes", .name = "inodes", .meaning = Meaning::count, .omit = Omit::if_at_most_one},
    {.title = "file", .name = "_name", .meaning = Meaning::path},
};
constexpr std::string_view kStatFilesSql = R"(
SELECT layer, path, coalesce(path, '(no name)') AS _name, count(DISTINCT file) AS inodes, total(operations) AS operations,
       total(errors) AS errors, total(bytes_read) AS bytes_read, total(bytes_written) AS bytes_written,
       total(total_ns) AS total_ns, max(max_ns) AS max_ns
FROM sum_files WHERE file <> 0 AND layer IN (SELECT layer FROM sum_layer)
GROUP BY layer, path)";

void note_stat_files(const SectionRows&, const store::TraceReader&, Section& section) {
  note_rest(section, "files", "file");
}

} // namespace

SectionDefinition stat_files_section() {
  return {.id = "files",
          .ranks = {.stat = 20},
          .subject = "file",
          .title = "Files",
          .view = "sum_files",
          .layer_phrase = ", seen at layer ",
          .sql = kStatFilesSql,
          .order = "total_ns DESC, operations DESC, _name",
          .order_label = "total time",
          .rows = 8,
          .columns = kStatFileColumns,
          .add_notes = note_stat_files};
}

} // namespace iotrail::output
