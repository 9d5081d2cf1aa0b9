// SPDX-License-Identifier: BSD-3-Clause
//
// The steps of operations from layer to layer.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kStepColumns[] = {
    {.title = "of", .name = "above", .suppress_repeats = true},
    {.title = "operation", .name = "_class"},
    {.title = "count", .name = "operations", .meaning = Meaning::count, .zero_is_dash = true},
    {.title = "went on", .name = "went_on", .meaning = Meaning::count, .zero_is_dash = true},
    {.title = "to", .name = "below"},
    {.title = "as", .name = "operations_below", .meaning = Meaning::count},
};
constexpr std::string_view kStepsSql = R"(
SELECT s.*, coalesce(s.class, 'none of these') AS _class, CASE WHEN s.class IS NULL THEN 1 ELSE 0 END AS _is_rest,
       a.depth AS _above_depth, b.depth AS _below_depth
FROM layer_steps AS s JOIN layer_list AS a ON s.above = a.layer JOIN layer_list AS b ON s.below = b.layer
WHERE s.operations_below > 0)";

} // namespace

SectionDefinition layer_steps_section() {
  return {.id = "layer_steps",
          .ranks = {.verify = 20},
          .title = "Operations, from layer to layer",
          .view = "layer_steps",
          .sql = kStepsSql,
          .order = "_above_depth, _below_depth, _is_rest, operations DESC, _class",
          .columns = kStepColumns};
}

} // namespace iotrail::output
