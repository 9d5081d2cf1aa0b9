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

} // namespace

SectionDefinition program_io_section() {
  return {.id = "program_io",
          .ranks = {.first_screen = 40, .report_data = 4},
          .view = "program_io",
          .sql = "SELECT * FROM program_io",
          .order = "busy_ns DESC, calls DESC, program",
          .rows = 2,
          .columns = kProgramColumns};
}

} // namespace iotrail::output
