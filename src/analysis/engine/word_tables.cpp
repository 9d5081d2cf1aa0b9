// SPDX-License-Identifier: BSD-3-Clause
//
// Small tables of this version: names of numbers, layers, reasons, causes.
#include "analysis/engine/relations.hpp"

#include <algorithm>

#include "analysis/engine/sql_text.hpp"
#include "analysis/tables/call_parts.hpp"
#include "trail/state/link.hpp"
#include "value_text.hpp"
#include "wait_text.hpp"

namespace iotrail::analysis {

namespace {

// For a number within a choice, the mask has all bits of the choice; for a flag, its own bits.
std::uint32_t mask_of(const schema::Value& value) {
  const std::uint32_t choice = schema::choice_mask(value.table);
  return (value.number & ~choice) == 0 ? choice : value.number;
}

// As one text, which the engine splits: it takes 20 times as long to parse so many literals.
std::string value_rows_sql() {
  std::string rows;
  for (const schema::Value& value : schema::kValues)
    rows += fmt::format("{}{},{},{},{}", rows.empty() ? "" : ";", value.table, value.number,
                        mask_of(value), value.name);
  return fmt::format(
      "CREATE TABLE value_names AS SELECT r[1] AS value_table, CAST(r[2] AS UINTEGER) "
      "AS number, CAST(r[3] AS UINTEGER) AS mask, r[4] AS name FROM (SELECT "
      "string_split(unnest(string_split({}, ';')), ',') AS r);\n",
      sql_literal(rows));
}

bool any_has_role(Tables tables, std::string_view layer, schema::Role role) {
  return std::ranges::any_of(tables, [&](const store::TableInfo& table) {
    return table.layer == layer && table.column(role) != nullptr;
  });
}

std::string layer_rows_sql(Tables tables) {
  std::vector<std::string> rows;
  int depth = 0;
  for (const schema::LayerInfo& layer : schema::kLayers)
    if (layer.layer != schema::Layer::dictionary)
      rows.push_back(fmt::format("{}, {}, {}, {}, {}, {}, {}", sql_literal(layer.name), ++depth,
                                 sql_literal(schema::value_name("source", layer.source)),
                                 sql_literal(schema::place_name(layer.place)), layer.call_rank,
                                 any_has_role(tables, layer.name, schema::Role::duration),
                                 any_has_role(tables, layer.name, schema::Role::bytes)));
  return table_sql("layer_list",
                   "layer VARCHAR, depth INTEGER, source VARCHAR, place VARCHAR, call_rank INTEGER,"
                   " has_spans BOOLEAN, moves_bytes BOOLEAN",
                   rows);
}

std::string wait_reason_rows_sql() {
  std::vector<std::string> rows;
  for (const schema::WaitReason& reason : schema::wait_reasons())
    rows.push_back(fmt::format("{}, {:d}, {}", sql_literal(reason.name), reason.is_for_others,
                               sql_literal(reason.doc)));
  return table_sql("wait_reasons", "reason VARCHAR, is_for_others UBIGINT, meaning VARCHAR", rows);
}

// Constants for the engine, so that it reads no table that cannot match.
std::string layer_macro_sql() {
  std::string cases;
  for (const schema::LayerInfo& layer : schema::kLayers)
    if (layer.place != schema::Place::beside)
      cases += fmt::format(" WHEN {} THEN {}", sql_literal(schema::place_name(layer.place)),
                           sql_literal(layer.name));
  std::string events;
  for (const schema::Event& event : schema::kEvents)
    events += fmt::format(" WHEN {} THEN {}", sql_literal(event.name),
                          sql_literal(schema::layer_name(static_cast<std::uint32_t>(event.layer))));
  return fmt::format("CREATE MACRO layer_at(place) AS CASE place{} END;\n"
                     "CREATE MACRO layer_of(event) AS CASE event{} END;\n",
                     cases, events);
}

std::string trait_macros_sql() {
  std::string macros;
  for (const schema::TraitInfo& trait : schema::kTraits) {
    std::vector<std::string> classes;
    for (const schema::ClassTrait& row : schema::kClassTraits)
      if (row.trait == trait.trait)
        classes.push_back(sql_literal(row.class_name));
    macros += fmt::format("CREATE MACRO {}(class) AS class IN ({});\n", trait.name,
                          fmt::join(classes, ", "));
  }
  return macros;
}

std::string descriptor_macro_sql() {
  std::vector<std::string> calls;
  for (const schema::CallTarget& row : schema::kCallTargets)
    if (row.is_descriptor)
      calls.push_back(sql_literal(row.call));
  return fmt::format("CREATE MACRO is_on_descriptor(call) AS call IN ({});\n",
                     fmt::join(calls, ", "));
}

std::string served_macro_sql() {
  std::vector<std::string> served;
  for (const std::string_view type : served_file_systems())
    served.push_back(sql_literal(type));
  return fmt::format("CREATE MACRO is_served(file_system) AS file_system IN ({});\n",
                     fmt::join(served, ", "));
}

// A constant for the planner.
std::string step_macro_sql() {
  std::vector<std::string> parts;
  for (const std::string_view part : kCallParts)
    parts.push_back(sql_literal(part));
  return fmt::format("CREATE MACRO step_of(name) AS CAST(list_position([{}], name) AS INTEGER);\n",
                     fmt::join(parts, ", "));
}

} // namespace

std::string schema_macros_sql() {
  return layer_macro_sql() + trait_macros_sql() + descriptor_macro_sql() + served_macro_sql() +
         step_macro_sql();
}

// As constants, so that the planner leaves out events that cannot match.
std::string layer_macros_sql(const store::TraceReader& reader, Tables tables) {
  const schema::LayerInfo* call_layer = call_layer_of(reader);
  std::vector<std::string> without_spans = {"''"};
  for (const schema::LayerInfo& layer : schema::kLayers) {
    if (layer.layer != schema::Layer::dictionary &&
        any_has_role(tables, layer.name, schema::Role::bytes) &&
        !any_has_role(tables, layer.name, schema::Role::duration))
      without_spans.push_back(sql_literal(layer.name));
  }
  return fmt::format("CREATE MACRO is_asked(layer) AS layer IN (layer_at('later'){});\n"
                     "CREATE MACRO lacks_spans(layer) AS layer IN ({});\n",
                     call_layer == nullptr ? "" : ", " + sql_literal(call_layer->name),
                     fmt::join(without_spans, ", "));
}

void add_schema_tables(LazyRelations& definitions, Tables tables) {
  definitions.add("the table value_names", value_rows_sql());
  definitions.add("the table layer_list", layer_rows_sql(tables));
  definitions.add("the table wait_reasons", wait_reason_rows_sql());
}

void add_causes(LazyRelations& definitions) {
  std::vector<std::string> rows;
  for (unsigned number = 0; number <= static_cast<unsigned>(trail::kLastCause); ++number) {
    const auto cause = static_cast<trail::Cause>(number);
    rows.push_back(fmt::format("{}, {}, {:d}, {}, {}", number,
                               sql_literal(trail::cause_name(cause)), trail::is_remainder(cause),
                               sql_literal(trail::cause_meaning(cause)),
                               sql_literal(trail::cause_words(cause))));
  }
  definitions.add(
      "the table causes",
      table_sql(
          "causes",
          "number INTEGER, cause VARCHAR, is_remainder UBIGINT, meaning VARCHAR, words VARCHAR",
          rows));
}

} // namespace iotrail::analysis
