// SPDX-License-Identifier: BSD-3-Clause
//
// Operations by their aggregates, layer by layer.
#include "report/columns.hpp"
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kOperationColumns[] = {
    {.title = "layer", .name = "layer", .suppress_repeats = true},
    {.title = "operation", .name = "operation"},
    kCountColumn,
    {.title = "err",
     .name = "errors",
     .meaning = Meaning::count,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .is_sum = true},
    {.title = "bytes",
     .name = "bytes",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .drop_priority = 1,
     .is_sum = true},
    kTotalColumn,
    {.title = "mean", .name = "mean_ns", .meaning = Meaning::ns, .drop_priority = 3},
    {.title = "p50", .name = "p50_ns", .meaning = Meaning::ns, .drop_priority = 2},
    {.title = "p99", .name = "p99_ns", .meaning = Meaning::ns},
    {.title = "max", .name = "max_ns", .meaning = Meaning::ns},
};

void note_operations(const SectionRows&, const store::TraceReader&, Section& section) {
  if (Sentence rest = rest_of_groups(section, "operation"); !rest.empty())
    section.notes.push_back(std::move(rest));
}

} // namespace

SectionDefinition stat_operations_section() {
  return {.id = "operations",
          .ranks = {.stat = 10},
          .subject = "operation",
          .title = "Operations",
          .view = "sum_operations",
          .if_empty = "none",
          .sql = "SELECT o.*, d.depth AS _depth "
                 "FROM sum_operations AS o LEFT JOIN layer_list AS d ON o.layer = d.layer",
          .order = "total_ns DESC NULLS LAST, operations DESC, operation",
          .order_label = "total time",
          .group = "layer",
          .group_order = kLayerOrder,
          .rows = 10,
          .columns = kOperationColumns,
          .add_notes = note_operations};
}

} // namespace iotrail::output
