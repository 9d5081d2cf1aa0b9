// SPDX-License-Identifier: BSD-3-Clause
//
// The steps of operations from layer to layer.
#include "report/section.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kStepColumns[] = {
    {.title = "of", .name = "above", .suppress_repeats = true},
    {.title = "operation", .name = "_class"},
    {.title = "count", .name = "operations", .meaning = Meaning::count, .zero_is_dash = true},
    {.title = "passed on", .name = "went_on", .meaning = Meaning::count, .zero_is_dash = true},
    {.title = "to", .name = "below"},
    {.title = "as", .name = "operations_below", .meaning = Meaning::count},
};
constexpr std::string_view kStepsSql = R"(
SELECT s.*, coalesce(s.class, 'none of these') AS _class, CASE WHEN s.class IS NULL THEN 1 ELSE 0 END AS _is_rest,
       a.depth AS _above_depth, b.depth AS _below_depth
FROM layer_steps AS s JOIN layer_list AS a ON s.above = a.layer JOIN layer_list AS b ON s.below = b.layer
WHERE s.operations_below > 0)";

void note_bios(const SectionRows& rows, const store::TraceReader&, Section& section) {
  const std::string_view devices = schema::layer_name(IOT_LAYER_block);
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows.text(row, "below") == devices) {
      section.notes.push_back(
          sentence("at layer {layer} bios are counted, and a request may join several",
                   {text_value("layer", std::string(devices))}));
      return;
    }
}

} // namespace

SectionDefinition layer_steps_section() {
  return {.id = "layer_steps",
          .ranks = {.verify = 20},
          .title = "Operations, from layer to layer",
          .view = "layer_steps",
          .sql = kStepsSql,
          .order = "_above_depth, _below_depth, _is_rest, operations DESC, _class",
          .columns = kStepColumns,
          .add_notes = note_bios};
}

} // namespace iotrail::output
