// SPDX-License-Identifier: BSD-3-Clause
//
// The machine and its system, one row a snapshot.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kMachinesColumns[] = {
    {.title = "host", .name = "host"},
    {.title = "CPUs", .name = "cpus", .meaning = Meaning::count},
    {.title = "running", .name = "running_ns", .meaning = Meaning::ns, .drop_priority = 1},
    {.title = "kernel", .name = "kernel"},
    {.title = "system", .name = "os", .meaning = Meaning::command, .omit = Omit::if_unknown},
    {.title = "model",
     .name = "cpu_model",
     .meaning = Meaning::command,
     .omit = Omit::if_unknown,
     .drop_priority = 2},
};
constexpr std::string_view kMachinesSql = R"(
SELECT * FROM snapshot_machines)";

} // namespace

SectionDefinition machines_section() {
  return {.id = "machines",
          .ranks = {.snapshot = 70},
          .title = "The machine",
          .view = "snapshot_machines",
          .sql = kMachinesSql,
          .order = "snapshot",
          .columns = kMachinesColumns};
}

} // namespace iotrail::output
