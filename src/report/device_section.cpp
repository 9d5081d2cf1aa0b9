// SPDX-License-Identifier: BSD-3-Clause
#include "report/device_section.hpp"

#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr SectionColumn kDeviceColumns[] = {
    {.title = "device", .name = "name", .when = When::changed},
    {.title = "", .name = "operation"},
    {.title = "requests", .name = "requests", .show = Show::count, .is_sum = true},
    {.title = "bytes", .name = "bytes", .show = Show::bytes_or_dash, .is_sum = true},
    {.title = "errors",
     .name = "errors",
     .show = Show::count_or_dash,
     .rank = 5,
     .is_alarm = true,
     .is_sum = true},
    {.title = "of run", .name = "share", .show = Show::share},
    {.title = "in order", .name = "in_order", .show = Show::share, .rank = 3},
    {.title = "depth", .name = "depth", .show = Show::count, .when = When::known, .rank = 4},
    {.title = "q p50", .name = "queue_p50_ns", .show = Show::duration, .rank = 6},
    {.title = "q p99", .name = "queue_p99_ns", .show = Show::duration, .rank = 1},
    {.title = "dev p50", .name = "device_p50_ns", .show = Show::duration},
    {.title = "dev p99", .name = "device_p99_ns", .show = Show::duration},
    {.title = "dev max", .name = "device_max_ns", .show = Show::duration, .rank = 2},
};
constexpr std::string_view kDevicesSql = R"(
WITH shown AS MATERIALIZED (SELECT * FROM top_devices), sums AS (SELECT count(*) AS all_rows FROM shown)
SELECT d.*, coalesce(d.device_name, (d.device // 1048576) || ':' || (d.device % 1048576)) AS name, layer_at('devices') AS layer,
       CAST(round(d.depth_mean) AS BIGINT) AS depth,
       CAST(sum(d.bytes) OVER (PARTITION BY d.device) AS DOUBLE) AS bytes_of_device, r.duration_ns AS run_ns, a.all_rows AS all_rows
FROM shown AS d CROSS JOIN run AS r CROSS JOIN sums AS a)";

void note_devices(const SmallResult& rows, const store::TraceReader&, Sink& sink,
                  std::size_t width) {
  note_rest(rows, sink, "rows", "device");
  std::string text = fmt::format("of run: share of its {} in which the device had at least one",
                                 human_duration(rows.number(0, "run_ns")));
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (row == 0 || rows.text(row, "name") != rows.text(row - 1, "name"))
      text += fmt::format("{}{}: {}", row == 0 ? ", any of " : ", of ", rows.text(row, "name"),
                          human_share(rows.real(row, "device_share")));
  text += "; q: from the first bio to the device; dev: at the device";
  print_wrapped(text, sink, width);
}

} // namespace

Section device_section() {
  return {.name = "devices",
          .title = "Devices",
          .view = "top_devices",
          .sql = kDevicesSql,
          .order = "bytes_of_device DESC, name, bytes DESC, requests DESC, operation",
          .order_words = "bytes",
          .rows = 8,
          .columns = kDeviceColumns,
          .add_notes = note_devices};
}

} // namespace iotrail::output
