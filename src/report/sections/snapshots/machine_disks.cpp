// SPDX-License-Identifier: BSD-3-Clause
//
// The disks of the last snapshot of the system, and the settings of their queues.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kMachineDisksColumns[] = {
    {.title = "disk", .name = "name"},
    {.title = "size", .name = "bytes", .meaning = Meaning::bytes},
    {.title = "scheduler", .name = "scheduler"},
    {.title = "requests", .name = "queue_requests", .meaning = Meaning::count},
    {.title = "read ahead", .name = "read_ahead_bytes", .meaning = Meaning::bytes},
    {.title = "cache", .name = "write_cache"},
    {.title = "model", .name = "model", .omit = Omit::if_unknown, .drop_priority = 1},
};
constexpr std::string_view kMachineDisksSql = R"(
SELECT * FROM snapshot_disks WHERE snapshot = (SELECT max(snapshot) FROM snapshots WHERE kind = 'system') AND bytes > 0)";

} // namespace

SectionDefinition machine_disks_section() {
  return {.id = "machine_disks",
          .ranks = {.snapshot = 80},
          .title = "Disks",
          .view = "snapshot_disks",
          .sql = kMachineDisksSql,
          .order = "snapshot, name",
          .columns = kMachineDisksColumns};
}

} // namespace iotrail::output
