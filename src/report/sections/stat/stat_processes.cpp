// SPDX-License-Identifier: BSD-3-Clause
//
// Processes by their aggregates.
#include "report/columns.hpp"
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kStatProcessColumns[] = {
    kCountColumn,
    kErrorsColumn,
    kReadColumn,
    kWrittenColumn,
    kTotalColumn,
    kMaxColumn,
    {.title = "pid", .name = "pid", .meaning = Meaning::id},
    {.title = "container",
     .name = "_container",
     .meaning = Meaning::path,
     .omit = Omit::if_unknown,
     .drop_priority = 4},
    {.title = "program", .name = "comm", .meaning = Meaning::command},
};
constexpr std::string_view kStatProcessesSql = R"(
SELECT *, short_container(container) AS _container FROM sum_processes WHERE layer IN (SELECT layer FROM sum_layer))";

void note_stat_processes(const SectionRows&, const store::TraceReader&, Section& section) {
  note_rest(section, "processes", "process");
}

} // namespace

SectionDefinition stat_processes_section() {
  return {.id = "processes",
          .ranks = {.stat = 30},
          .subject = "process",
          .title = "Processes",
          .view = "sum_processes",
          .layer_phrase = ", seen at layer ",
          .sql = kStatProcessesSql,
          .order = "total_ns DESC, operations DESC, pid",
          .order_label = "total time",
          .rows = 8,
          .columns = kStatProcessColumns,
          .add_notes = note_stat_processes};
}

} // namespace iotrail::output
