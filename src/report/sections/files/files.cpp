// SPDX-License-Identifier: BSD-3-Clause
//
// Files by their I/O.
#include "report/columns.hpp"
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kFileColumns[] = {
    kDeviceReadColumn,
    kDeviceWriteColumn,
    kReadColumn,
    kWrittenColumn,
    {.title = "calls",
     .name = "operations",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 3,
     .is_sum = true},
    {.title = "syncs",
     .name = "syncs",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 5,
     .is_sum = true},
    {.title = "errors",
     .name = "errors",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 6,
     .is_sum = true},
    {.title = "time",
     .name = "total_ns",
     .meaning = Meaning::ns,
     .drop_priority = 4,
     .is_sum = true},
    {.title = "cached",
     .name = "cache_bytes_added",
     .meaning = Meaning::bytes,
     .omit = Omit::if_unknown,
     .drop_priority = 8},
    {.title = "dirtied",
     .name = "cache_bytes_dirtied",
     .meaning = Meaning::bytes,
     .omit = Omit::if_unknown,
     .drop_priority = 7},
    {.title = "inodes",
     .name = "inodes",
     .meaning = Meaning::count,
     .omit = Omit::if_at_most_one, // a path with several inodes
     .zero_is_dash = true,
     .drop_priority = 2},
    {.title = "file", .name = "_name", .meaning = Meaning::path},
};
constexpr std::string_view kFilesSql = R"(
SELECT *, CASE kind WHEN 'file' THEN coalesce(nullif(path, ''), '(no known name)')
                                      || CASE WHEN is_removed = 1 AND path NOT LIKE '% (deleted)' THEN ' (deleted)' ELSE '' END
                    WHEN 'metadata' THEN '(metadata)'
                    ELSE '(no known file)' END AS _name
FROM top_files
WHERE kind = 'file' OR operations > 0 OR device_bytes_read > 0 OR device_bytes_written > 0
   OR cache_bytes_added > 0 OR cache_bytes_dirtied > 0)";

void note_files(const SectionRows&, const store::TraceReader& trace, Section& section) {
  note_asynchronous(trace, section);
  note_rest(section, "files", "file");
}

} // namespace

SectionDefinition files_section() {
  return {.id = "files",
          .ranks = {.report = 20},
          .subject = "file",
          .title = "Files",
          .view = "top_files",
          .if_empty = "none",
          .sql = kFilesSql,
          .order = "coalesce(plus(device_bytes_read, device_bytes_written), 0) DESC, "
                   "plus(bytes_read, bytes_written) DESC, "
                   "plus(coalesce(cache_bytes_added, 0), coalesce(cache_bytes_dirtied, 0)) DESC, "
                   "total_ns DESC NULLS LAST, _name",
          .order_label = "bytes at the device, then by bytes in calls",
          .rows = 5,
          .columns = kFileColumns,
          .add_notes = note_files};
}

} // namespace iotrail::output
