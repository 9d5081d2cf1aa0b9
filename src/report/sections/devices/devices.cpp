// SPDX-License-Identifier: BSD-3-Clause
//
// Devices: requests, their waits and their durations.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kDeviceColumns[] = {
    {.title = "device", .name = "_name", .suppress_repeats = true},
    {.title = "", .name = "operation"},
    {.title = "requests", .name = "requests", .meaning = Meaning::count},
    {.title = "bytes", .name = "bytes", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "errors",
     .name = "errors",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 5,
     .never_drop = true},
    {.title = "of run", .name = "share", .meaning = Meaning::share},
    {.title = "in order", .name = "in_order", .meaning = Meaning::share, .drop_priority = 3},
    {.title = "depth",
     .name = "depth_mean",
     .meaning = Meaning::count,
     .omit = Omit::if_unknown,
     .drop_priority = 4},
    {.title = "q p50", .name = "queue_p50_ns", .meaning = Meaning::ns, .drop_priority = 6},
    {.title = "q p99", .name = "queue_p99_ns", .meaning = Meaning::ns, .drop_priority = 1},
    {.title = "dev p50", .name = "device_p50_ns", .meaning = Meaning::ns},
    {.title = "dev p99", .name = "device_p99_ns", .meaning = Meaning::ns},
    {.title = "dev max", .name = "device_max_ns", .meaning = Meaning::ns, .drop_priority = 2},
};
constexpr std::string_view kDevicesSql = R"(
WITH shown AS (SELECT *, coalesce(device_name, (device // 1048576) || ':' || (device % 1048576)) AS _name FROM top_devices)
SELECT d.*, layer_at('devices') AS _layer, CAST(sum(d.bytes) OVER (PARTITION BY d.device) AS DOUBLE) AS _device_bytes,
       r.duration_ns AS _run_ns
FROM shown AS d CROSS JOIN run AS r)";

void note_devices(const SectionRows& rows, const store::TraceReader& trace, Section& section) {
  note_rest(section, "rows", "device");
  Sentence note = sentence("of run: share of its {run_ns} in which the device had at least one",
                           {ns_value("run_ns", rows.number(0, "_run_ns"))});
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (row == 0 || rows.text(row, "_name") != rows.text(row - 1, "_name"))
      note.add(row == 0 ? ", any of {device}: {device_share}" : ", of {device}: {device_share}",
               {text_value("device", rows.text(row, "_name")),
                share_value("device_share", rows.real(row, "device_share"))});
  note.add("; q: from the first bio to the device; dev: at the device");
  section.notes.push_back(std::move(note));
  note_lost_completions(rows, trace, section);
}

} // namespace

SectionDefinition devices_section() {
  return {.id = "devices",
          .ranks = {.devices_screen = 10, .report = 90},
          .subject = "device",
          .title = "Devices",
          .view = "top_devices",
          .sql = kDevicesSql,
          .order = "_device_bytes DESC, _name, bytes DESC, requests DESC, operation",
          .order_label = "bytes",
          .rows = 8,
          .columns = kDeviceColumns,
          .add_notes = note_devices};
}

} // namespace iotrail::output
