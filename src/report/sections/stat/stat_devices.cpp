// SPDX-License-Identifier: BSD-3-Clause
//
// Devices by their aggregates.
#include "report/columns.hpp"
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kStatDeviceColumns[] = {
    kCountColumn,
    kErrorsColumn,
    kReadColumn,
    kWrittenColumn,
    kTotalColumn,
    kMaxColumn,
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
