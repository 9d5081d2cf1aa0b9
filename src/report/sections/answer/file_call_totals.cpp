// SPDX-License-Identifier: BSD-3-Clause
//
// The calls on files that took the most time.
#include "report/columns.hpp"
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kFileCallColumns[] = {
    {.title = "call", .name = "call"},
    {.title = "count", .name = "calls", .meaning = Meaning::count, .is_sum = true},
    kFailedColumn,
    {.title = "time", .name = "total_ns", .meaning = Meaning::ns, .is_sum = true},
    {.title = "of run", .name = "share", .meaning = Meaning::share},
    {.title = "p50", .name = "p50_ns", .meaning = Meaning::ns, .drop_priority = 2},
    {.title = "p99", .name = "p99_ns", .meaning = Meaning::ns, .drop_priority = 1},
    {.title = "most on", .name = "path", .meaning = Meaning::path},
};

} // namespace

SectionDefinition file_call_totals_section() {
  return {.id = "file_call_totals",
          .ranks = {.first_screen = 30, .report_data = 3},
          .view = "file_call_totals",
          .sql = "SELECT * FROM file_call_totals",
          .order = "total_ns DESC, calls DESC, call",
          .rows = 4,
          .columns = kFileCallColumns};
}

} // namespace iotrail::output
