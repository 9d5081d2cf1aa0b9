// SPDX-License-Identifier: BSD-3-Clause
//
// The fate of bytes written into the page cache.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kFateColumns[] = {
    {.title = "written", .name = "written", .meaning = Meaning::bytes},
    {.title = "to device", .name = "to_device", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "failed",
     .name = "failed",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true},
    {.title = "overwritten", .name = "absorbed", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "dropped", .name = "dropped", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "in metadata",
     .name = "inlined",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true},
    {.title = "in the cache", .name = "pending", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "process", .name = "_process", .drop_priority = 1},
    {.title = "inodes",
     .name = "inodes",
     .meaning = Meaning::count,
     .omit = Omit::if_at_most_one,
     .drop_priority = 2},
    {.title = "file", .name = "path", .meaning = Meaning::path},
};
// A path with several successive inodes, such as a database's journal, is one row.
constexpr std::string_view kFatesSql = R"(
WITH
  sums AS (
    SELECT pid, path, count(*) AS inodes, total(written) AS written, total(to_device) AS to_device, total(failed) AS failed, total(absorbed) AS absorbed,
           total(dropped) AS dropped, total(inlined) AS inlined, total(pending) AS pending
    FROM write_fates GROUP BY pid, path
  )
SELECT f.*, CASE WHEN coalesce(p.comm, '') = '' THEN CAST(f.pid AS VARCHAR) ELSE p.comm || '[' || f.pid || ']' END AS _process
FROM sums AS f LEFT JOIN programs AS p ON f.pid = p.program_pid)";

void note_fates(const SectionRows&, const store::TraceReader&, Section& section) {
  if (section.all_rows > section.rows.size())
    section.notes.push_back(sentence(
        "{shown} of {all} rows; all: iotrail query TRACE \"FROM write_fates\"",
        {count_value("shown", section.rows.size()), count_value("all", section.all_rows)}));
}

} // namespace

SectionDefinition fates_section() {
  return {.id = "fates",
          .ranks = {.verify = 60},
          .title = "What became of bytes written into the page cache",
          .view = "write_fates",
          .sql = kFatesSql,
          .order = "written DESC, path, _process",
          .rows = 10,
          .columns = kFateColumns,
          .add_notes = note_fates};
}

} // namespace iotrail::output
