// SPDX-License-Identifier: BSD-3-Clause
//
// The processes of the last snapshot of them, since their start.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kSnapshotProgramsColumns[] = {
    {.title = "pid", .name = "pid", .meaning = Meaning::id},
    {.title = "name", .name = "name"},
    {.title = "dev read",
     .name = "device_bytes_read",
     .meaning = Meaning::bytes,
     .zero_is_dash = true},
    {.title = "dirtied",
     .name = "device_bytes_written",
     .meaning = Meaning::bytes,
     .zero_is_dash = true},
    {.title = "CPU", .name = "cpu_ns", .meaning = Meaning::ns, .zero_is_dash = true},
    {.title = "memory", .name = "resident_bytes", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "state", .name = "state", .drop_priority = 1},
    {.title = "command", .name = "command", .meaning = Meaning::command, .drop_priority = 2},
};
constexpr std::string_view kSnapshotProgramsSql = R"(
SELECT *, plus(device_bytes_read, device_bytes_written) AS device_bytes
FROM snapshot_processes
WHERE snapshot = (SELECT max(snapshot) FROM snapshots WHERE kind = 'process'))";

void note_snapshot_programs(const SectionRows&, const store::TraceReader&, Section& section) {
  note_rest(section, "processes");
}

} // namespace

SectionDefinition snapshot_programs_section() {
  return {.id = "snapshot_programs",
          .ranks = {.snapshot = 60},
          .title = "Processes of the last snapshot",
          .view = "snapshot_processes",
          .sql = kSnapshotProgramsSql,
          .order = "device_bytes DESC, cpu_ns DESC, pid",
          .order_label = "device bytes, then by CPU time",
          .rows = 5,
          .columns = kSnapshotProgramsColumns,
          .add_notes = note_snapshot_programs};
}

} // namespace iotrail::output
