// SPDX-License-Identifier: BSD-3-Clause
//
// Devices by their aggregates.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kStatDeviceColumns[] = {
    {.title = "count", .name = "operations", .meaning = Meaning::count, .is_sum = true},
    {.title = "errors",
     .name = "errors",
     .meaning = Meaning::count,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .drop_priority = 3,
     .is_sum = true},
    {.title = "read",
     .name = "bytes_read",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .is_sum = true},
    {.title = "written",
     .name = "bytes_written",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .is_sum = true},
    {.title = "total", .name = "total_ns", .meaning = Meaning::ns, .is_sum = true},
    {.title = "max", .name = "max_ns", .meaning = Meaning::ns, .drop_priority = 2},
    {.title = "device", .name = "_name", .meaning = Meaning::path},
};
constexpr std::string_view kStatDevicesSql = R"(
SELECT *, coalesce(device_name, CAST(device AS VARCHAR)) AS _name FROM sum_devices WHERE layer = layer_at('devices'))";

void note_stat_devices(const SectionRows&, const store::TraceReader&, Section& section) {
  note_rest(section, "devices", "device");
}

} // namespace

SectionDefinition stat_devices_section() {
  return {.id = "devices",
          .ranks = {.stat = 40},
          .subject = "device",
          .title = "Devices",
          .view = "sum_devices",
          .sql = kStatDevicesSql,
          .order = "total_ns DESC, operations DESC, device",
          .order_label = "total time",
          .rows = 8,
          .columns = kStatDeviceColumns,
          .add_notes = note_stat_devices};
}

} // namespace iotrail::output
