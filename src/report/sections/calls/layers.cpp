// SPDX-License-Identifier: BSD-3-Clause
//
// What each layer did.
#include "report/columns.hpp"
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kLayerColumns[] = {
    {.title = "layer", .name = "layer", .suppress_repeats = true},
    {.title = "operation", .name = "operation"},
    kCountColumn,
    {.title = "bytes", .name = "bytes", .meaning = Meaning::bytes, .is_sum = true},
    {.title = "errors",
     .name = "errors",
     .meaning = Meaning::count,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .drop_priority = 2,
     .never_drop = true,
     .is_sum = true},
    {.title = "unfinished",
     .name = "unfinished",
     .meaning = Meaning::count,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .drop_priority = 4,
     .is_sum = true},
    {.title = "mean", .name = "mean_ns", .meaning = Meaning::ns, .drop_priority = 1},
    {.title = "p50", .name = "p50_ns", .meaning = Meaning::ns, .drop_priority = 3},
    {.title = "p99", .name = "p99_ns", .meaning = Meaning::ns},
    {.title = "max", .name = "max_ns", .meaning = Meaning::ns},
};

} // namespace

SectionDefinition layers_section() {
  return {.id = "layers",
          .ranks = {.report = 170},
          .title = "Operations, layer by layer",
          .view = "layers",
          .if_empty = "none",
          .sql = "SELECT l.*, d.depth AS _depth "
                 "FROM layers AS l LEFT JOIN layer_list AS d ON l.layer = d.layer",
          .order = "operations DESC, operation",
          .group = "layer",
          .group_order = kLayerOrder,
          .columns = kLayerColumns};
}

} // namespace iotrail::output
