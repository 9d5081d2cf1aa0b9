// SPDX-License-Identifier: BSD-3-Clause
//
// How the run divides into I/O, waits for others, and everything else.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kRunPartColumns[] = {
    {.title = "the run", .name = "part"},
    {.title = "time", .name = "ns", .meaning = Meaning::ns},
    {.title = "of run", .name = "share", .meaning = Meaning::share},
};

} // namespace

SectionDefinition run_parts_section() {
  return {.id = "run_parts",
          .ranks = {.first_screen = 10, .report_data = 1},
          .view = "run_parts",
          .sql =
              "SELECT part, ns, share, step AS _step FROM run_parts "
              "WHERE part NOT IN ('calls on pseudo files', 'waiting for own processes') OR ns > 0",
          .order = "_step",
          .columns = kRunPartColumns};
}

} // namespace iotrail::output
