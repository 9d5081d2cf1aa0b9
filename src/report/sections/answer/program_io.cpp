// SPDX-License-Identifier: BSD-3-Clause
//
// Programs by the I/O that they caused, whichever task submitted it.
#include "report/columns.hpp"
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kProgramColumns[] = {
    {.title = "caused by", .name = "program"},
    {.title = "processes",
     .name = "processes",
     .meaning = Meaning::count,
     .omit = Omit::if_at_most_one,
     .drop_priority = 3},
    {.title = "in calls", .name = "busy_ns", .meaning = Meaning::ns},
    {.title = "file calls",
     .name = "calls",
     .meaning = Meaning::count,
     .drop_priority = 2,
     .is_sum = true},
    kFailedColumn,
    {.title = "read",
     .name = "read",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .is_sum = true},
    {.title = "written",
     .name = "written",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .is_sum = true},
    {.title = "disk read",
     .name = "dev_read",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .drop_priority = 1},
    {.title = "disk write",
     .name = "dev_write",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .drop_priority = 1},
};

// Sums over all programs, to say what the rows leave out. A program counts by its part of the time or of what the disks
// did, whichever is larger: one that moved most of the bytes may have waited for none.
constexpr std::string_view kProgramSql = R"(
WITH
  programs AS MATERIALIZED (FROM program_io),
  sums AS (
    SELECT total(busy_ns) AS _all_busy_ns, total(read) AS _all_read, total(written) AS _all_written, total(dev_read) AS _all_dev_read, total(dev_write) AS _all_dev_write
    FROM programs
  )
SELECT p.*, s.*, greatest(p.busy_ns / nullif(s._all_busy_ns, 0),
                          (coalesce(p.dev_read, 0) + coalesce(p.dev_write, 0)) / nullif(s._all_dev_read + s._all_dev_write, 0)) AS _part
FROM programs AS p CROSS JOIN sums AS s)";

struct RestOf {
  std::string_view column;
  std::string_view sum;
  std::string_view words;
};
constexpr RestOf kRests[] = {{"read", "_all_read", "read"},
                             {"written", "_all_written", "written"},
                             {"dev_read", "_all_dev_read", "disk read"},
                             {"dev_write", "_all_dev_write", "disk write"}};

// "3 more: read 1.20 MiB, disk write 4.00 KiB", so that the bytes add up.
void note_others(const SectionRows& rows, const store::TraceReader&, Section& section) {
  if (section.all_rows <= rows.size())
    return;
  Sentence note = sentence("{more} more", {count_value("more", section.all_rows - rows.size())});
  bool is_first = true;
  for (const auto& [column, sum, words] : kRests) {
    std::uint64_t shown = 0;
    for (std::size_t row = 0; row < rows.size(); ++row)
      shown += rows.number(row, column);
    const std::uint64_t all = rows.number(0, sum);
    if (all <= shown)
      continue;
    note.add(is_first ? ": {words} {bytes}" : ", {words} {bytes}",
             {text_value("words", std::string(words)), bytes_value("bytes", all - shown)});
    is_first = false;
  }
  section.notes.push_back(std::move(note));
}

} // namespace

SectionDefinition program_io_section() {
  return {.id = "program_io",
          .ranks = {.first_screen = 40, .report_data = 4},
          .view = "program_io",
          .sql = kProgramSql,
          .order = "_part DESC, busy_ns DESC, calls DESC, program",
          .rows = 2,
          .columns = kProgramColumns,
          .add_notes = note_others};
}

} // namespace iotrail::output
