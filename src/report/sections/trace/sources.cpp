// SPDX-License-Identifier: BSD-3-Clause
//
// The events that each source produced, and those in the trace.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kSourceColumns[] = {
    {.title = "source", .name = "source"},
    {.title = "produced", .name = "produced", .meaning = Meaning::count},
    {.title = "written", .name = "written", .meaning = Meaning::count},
    {.title = "lost", .name = "lost", .meaning = Meaning::count, .zero_is_dash = true},
};

} // namespace

SectionDefinition sources_section() {
  return {.id = "sources",
          .ranks = {.report_data = 3, .verify = 10},
          .title = "Events",
          .view = "sources",
          .if_empty = "not counted: the trace has no end",
          .sql = "SELECT * FROM sources",
          .order = "source",
          .columns = kSourceColumns};
}

} // namespace iotrail::output
