// SPDX-License-Identifier: BSD-3-Clause
#include "report/cgroup_section.hpp"

namespace iotrail::output {

namespace {

constexpr SectionColumn kCgroupColumns[] = {
    {.title = "dev read", .name = "device_bytes_read", .show = Show::bytes_or_dash},
    {.title = "dev write", .name = "device_bytes_written", .show = Show::bytes_or_dash},
    {.title = "read", .name = "bytes_read", .show = Show::bytes_or_dash, .is_sum = true},
    {.title = "written", .name = "bytes_written", .show = Show::bytes_or_dash, .is_sum = true},
    {.title = "time", .name = "total_ns", .show = Show::duration, .is_sum = true},
    {.title = "calls",
     .name = "operations",
     .show = Show::count_or_dash,
     .rank = 1,
     .is_sum = true},
    {.title = "syncs", .name = "syncs", .show = Show::count_or_dash, .rank = 3, .is_sum = true},
    {.title = "processes", .name = "processes", .show = Show::count_or_dash, .rank = 2},
    {.title = "container", .name = "container_name", .when = When::known, .fit = Fit::middle},
    {.title = "cgroup", .name = "name", .fit = Fit::middle},
};
constexpr std::string_view kCgroupSql = R"(
WITH
  shown AS MATERIALIZED (
    SELECT *, coalesce(cgroup, '(not known)') AS name, short_container(container) AS container_name FROM top_cgroups
    WHERE (SELECT count(DISTINCT cgroup) FROM programs) > 1
      AND (operations > 0 OR device_bytes_read > 0 OR device_bytes_written > 0)
  ),
  sums AS (SELECT count(*) AS all_rows FROM shown)
SELECT s.*, c.seen_layer AS layer, a.all_rows AS all_rows FROM shown AS s CROSS JOIN call_layer AS c CROSS JOIN sums AS a)";

void note_cgroups(const SmallResult& rows, const store::TraceReader&, Sink& sink, std::size_t) {
  note_rest(rows, sink, "control groups");
}

} // namespace

Section cgroup_section() {
  return {.name = "cgroups",
          .title = "Control groups",
          .view = "top_cgroups",
          .sql = kCgroupSql,
          .order = "plus(device_bytes_read, device_bytes_written) DESC, plus(bytes_read, "
                   "bytes_written) DESC, name",
          .order_words = "bytes at the device, then by bytes in calls",
          .rows = 10,
          .columns = kCgroupColumns,
          .add_notes = note_cgroups};
}

} // namespace iotrail::output
