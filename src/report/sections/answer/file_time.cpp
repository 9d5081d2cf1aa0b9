// SPDX-License-Identifier: BSD-3-Clause
//
// What the calls on files waited for.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kFileTimeColumns[] = {
    {.title = "calls on files waited for", .name = "kind"},
    {.title = "time", .name = "ns", .meaning = Meaning::ns, .is_sum = true},
    {.title = "of their time", .name = "share", .meaning = Meaning::share},
};

} // namespace

SectionDefinition file_time_section() {
  return {.id = "file_time",
          .ranks = {.first_screen = 20, .report_data = 2},
          .view = "file_time",
          .sql = "SELECT kind, ns, share, words AS _words FROM file_time",
          .order = "ns DESC, kind",
          .rows = 5,
          .columns = kFileTimeColumns};
}

} // namespace iotrail::output
