// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the bytes that devices completed with the bytes that have a cause.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kConservationColumns[] = {
    {.title = "device", .name = "device_name", .suppress_repeats = true},
    {.title = "", .name = "direction"},
    {.title = "completed", .name = "completed", .meaning = Meaning::bytes},
    {.title = "with a cause",
     .name = "attributed",
     .meaning = Meaning::bytes,
     .zero_is_dash = true},
    {.title = "share", .name = "share", .meaning = Meaning::share},
    {.title = "exactly",
     .name = "exact",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .drop_priority = 1},
    {.title = "remainder", .name = "remainder", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "missing",
     .name = "differs",
     .meaning = Meaning::count,
     .omit = Omit::if_zero,
     .zero_is_dash = true},
    {.title = "under way",
     .name = "under_way",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .drop_priority = 2},
};

} // namespace

SectionDefinition conservation_section() {
  return {.id = "conservation",
          .ranks = {.verify = 30},
          .title = "Bytes that devices completed",
          .view = "conservation",
          .if_empty = "none: no request of a device is in the trace",
          .sql = "SELECT * FROM conservation",
          .order = "completed DESC, device_name, direction",
          .columns = kConservationColumns,
          .add_notes = note_lost_completions};
}

} // namespace iotrail::output
