// SPDX-License-Identifier: BSD-3-Clause
//
// Processes by their I/O.
#include "report/columns.hpp"
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kProcessColumns[] = {
    {.title = "pid", .name = "pid", .meaning = Meaning::id},
    {.title = "name", .name = "comm"},
    kDeviceReadColumn,
    kDeviceWriteColumn,
    kReadColumn,
    kWrittenColumn,
    {.title = "time", .name = "total_ns", .meaning = Meaning::ns, .is_sum = true},
    {.title = "calls",
     .name = "operations",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 2,
     .is_sum = true},
    {.title = "syncs",
     .name = "syncs",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 4,
     .is_sum = true},
    {.title = "threads",
     .name = "threads",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 5},
    {.title = "errors",
     .name = "errors",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 6,
     .is_sum = true},
    {.title = "container",
     .name = "_container",
     .meaning = Meaning::path,
     .omit = Omit::if_unknown,
     .drop_priority = 1},
    {.title = "command", .name = "command", .meaning = Meaning::command, .drop_priority = 3},
};

void note_processes(const SectionRows&, const store::TraceReader& trace, Section& section) {
  section.notes.push_back(
      sentence("calls: of all kinds; the first screen counts calls on files alone"));
  note_asynchronous(trace, section);
  note_rest(section, "processes", "process");
}

} // namespace

SectionDefinition processes_section() {
  return {.id = "processes",
          .ranks = {.report = 30},
          .subject = "process",
          .title = "Processes",
          .view = "top_processes",
          .if_empty = "none: neither calls nor requests of devices were recorded",
          .sql = "SELECT *, short_container(container) AS _container FROM top_processes WHERE "
                 "operations > 0 OR device_bytes_read > 0 OR device_bytes_written > 0",
          .order = "coalesce(plus(device_bytes_read, device_bytes_written), 0) DESC, "
                   "plus(bytes_read, bytes_written) DESC, total_ns DESC NULLS LAST, pid",
          .order_label = "bytes at the device, then by bytes in calls",
          .rows = 5,
          .columns = kProcessColumns,
          .add_notes = note_processes};
}

} // namespace iotrail::output
