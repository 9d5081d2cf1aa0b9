// SPDX-License-Identifier: BSD-3-Clause
//
// Control groups by their I/O, if a recording has several.
#include "report/columns.hpp"
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kCgroupColumns[] = {
    {.title = "dev read",
     .name = "device_bytes_read",
     .meaning = Meaning::bytes,
     .zero_is_dash = true},
    {.title = "dev write",
     .name = "device_bytes_written",
     .meaning = Meaning::bytes,
     .zero_is_dash = true},
    kReadColumn,
    kWrittenColumn,
    {.title = "time", .name = "total_ns", .meaning = Meaning::ns, .is_sum = true},
    {.title = "calls",
     .name = "operations",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 1,
     .is_sum = true},
    {.title = "syncs",
     .name = "syncs",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 3,
     .is_sum = true},
    {.title = "processes",
     .name = "processes",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 2},
    {.title = "container",
     .name = "_container",
     .meaning = Meaning::path,
     .omit = Omit::if_unknown},
    {.title = "cgroup", .name = "_name", .meaning = Meaning::path},
};
constexpr std::string_view kCgroupSql = R"(
SELECT t.*, coalesce(t.cgroup, '(not known)') AS _name, short_container(t.container) AS _container, c.seen_layer AS _layer
FROM top_cgroups AS t CROSS JOIN call_layer AS c
WHERE (SELECT count(DISTINCT cgroup) FROM programs) > 1
  AND (operations > 0 OR device_bytes_read > 0 OR device_bytes_written > 0))";

void note_cgroups(const SectionRows&, const store::TraceReader&, Section& section) {
  note_rest(section, "control groups");
}

} // namespace

SectionDefinition cgroups_section() {
  return {.id = "cgroups",
          .ranks = {.report = 140},
          .title = "Control groups",
          .view = "top_cgroups",
          .sql = kCgroupSql,
          .order = "plus(device_bytes_read, device_bytes_written) DESC, plus(bytes_read, "
                   "bytes_written) DESC, _name",
          .order_label = "bytes at the device, then by bytes in calls",
          .rows = 10,
          .columns = kCgroupColumns,
          .add_notes = note_cgroups};
}

} // namespace iotrail::output
