// SPDX-License-Identifier: BSD-3-Clause
//
// Read-ahead, and how much of it was used; and reading for page faults.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kReadAheadColumns[] = {
    {.title = "read ahead", .name = "ahead", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "used", .name = "used_share", .meaning = Meaning::share},
    {.title = "unused", .name = "unused", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "late",
     .name = "late",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true},
    {.title = "waited",
     .name = "late_ns",
     .meaning = Meaning::ns,
     .omit = Omit::if_zero,
     .zero_is_dash = true},
    {.title = "asked for",
     .name = "asked",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .drop_priority = 1},
    {.title = "for faults",
     .name = "mapped",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true},
    {.title = "touched", .name = "touched", .meaning = Meaning::bytes, .omit = Omit::if_unknown},
    {.title = "file", .name = "_name", .meaning = Meaning::path},
};

void note_read_ahead(const SectionRows& rows, const store::TraceReader&, Section& section) {
  bool is_late = false;
  for (std::size_t row = 0; row < rows.size(); ++row)
    is_late |= rows.number(row, "late") > 0;
  Sentence note;
  if (const std::uint64_t more = section.all_rows - rows.size(); more > 0)
    note.add("{more} more files are not shown; ", {count_value("more", more)});
  note.add("unused: not read in the recording; loads from mapped memory are not seen");
  note.add(is_late ? "; late: not there yet when the call that wanted them began, which waited for "
                     "them"
                   : "");
  section.notes.push_back(std::move(note));
}

} // namespace

SectionDefinition read_ahead_section() {
  return {.id = "read_ahead",
          .ranks = {.report = 120},
          .title = "Read-ahead, and reading for faults, of files with 64 KiB or more",
          .view = "read_ahead",
          .sql = "SELECT * REPLACE (CASE WHEN mapped > 0 THEN touched END AS touched), "
                 "coalesce(nullif(path, ''), '(no known name)') AS _name, used / nullif(ahead, 0) "
                 "AS used_share FROM read_ahead WHERE ahead + mapped >= 65536",
          .order = "ahead + mapped DESC, _name",
          .order_label = "bytes",
          .rows = 6,
          .columns = kReadAheadColumns,
          .add_notes = note_read_ahead};
}

} // namespace iotrail::output
