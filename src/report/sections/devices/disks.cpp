// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the requests in the trace with what each disk counted by itself.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kDiskColumns[] = {
    {.title = "disk", .name = "device_name", .suppress_repeats = true},
    {.title = "", .name = "direction"},
    {.title = "counted", .name = "_bytes", .meaning = Meaning::bytes},
    {.title = "in trace", .name = "_bytes_in_trace", .meaning = Meaning::bytes},
    {.title = "absent",
     .name = "_bytes_absent",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true},
    {.title = "requests", .name = "_requests", .meaning = Meaning::count, .omit = Omit::if_unknown},
    {.title = "in trace",
     .name = "_requests_in_trace",
     .meaning = Meaning::count,
     .omit = Omit::if_unknown},
    {.title = "absent",
     .name = "_requests_absent",
     .meaning = Meaning::count,
     .omit = Omit::if_zero,
     .zero_is_dash = true},
};

// Flushes have no bytes, and are counted.
constexpr std::string_view kDisksSql = R"(
SELECT *, CASE WHEN direction <> 'flush' THEN counted END AS _bytes,
       CASE WHEN direction <> 'flush' THEN in_trace END AS _bytes_in_trace,
       CASE WHEN direction <> 'flush' THEN absent END AS _bytes_absent,
       CASE WHEN direction = 'flush' THEN counted END AS _requests,
       CASE WHEN direction = 'flush' THEN in_trace END AS _requests_in_trace,
       CASE WHEN direction = 'flush' THEN absent END AS _requests_absent
FROM disk_balance WHERE recorded <> 'none')";

void explain_absence(const SectionRows& rows, const store::TraceReader&, Section& section) {
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows.text(row, "recorded") == "followed" && rows.number(row, "absent") > 0) {
      section.notes.push_back(sentence("absent: others caused it, or iotrail did not follow it"));
      return;
    }
}

} // namespace

SectionDefinition disks_section() {
  return {.id = "disks",
          .ranks = {.verify = 35},
          .title = "What the disks counted by themselves",
          .view = "disk_balance",
          .sql = kDisksSql,
          .order = "device_name, CASE direction WHEN 'write' THEN 1 WHEN 'read' THEN 2 WHEN "
                   "'discard' THEN 3 ELSE 4 END",
          .columns = kDiskColumns,
          .add_notes = explain_absence};
}

} // namespace iotrail::output
