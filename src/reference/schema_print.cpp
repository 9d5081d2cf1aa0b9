// SPDX-License-Identifier: BSD-3-Clause
#include "reference/schema_print.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/engine/sql_text.hpp"
#include "schema.hpp"
#include "text/markdown.hpp"
#include "text/text_width.hpp"

namespace iotrail::output {

namespace {

using schema::Event;
using schema::Field;

std::string_view type_name(const Field& field) {
  return schema::info(field.type).name;
}

std::string_view sql_type(const Field& field) {
  return schema::sql_type(field.type, field.meaning);
}

std::span<const Field> own_fields(const Event& event) {
  return event.is_dictionary() ? event.fields
                               : event.fields.subspan(schema::detail::header::kFields.size());
}

std::vector<const Event*> events_of(schema::Layer layer) {
  std::vector<const Event*> events;
  for (const Event& event : schema::kEvents)
    if (event.layer == layer)
      events.push_back(&event);
  return events;
}

// Tables of values, in the order of their first row.
std::vector<std::string_view> value_tables() {
  std::vector<std::string_view> tables;
  for (const schema::Value& value : schema::kValues)
    if (std::ranges::find(tables, value.table) == tables.end())
      tables.push_back(value.table);
  return tables;
}

std::string_view source_name(const schema::Counter& counter) {
  return schema::value_name("source", counter.source);
}

void add_fields_markdown(std::string& out, std::span<const Field> fields) {
  out += "| field | type | meaning | |\n|---|---|---|---|\n";
  for (const Field& field : fields)
    out += fmt::format("| `{}` | {} | {} | {} |\n", schema::column_name(field.name),
                       type_name(field), schema::meaning_name(field.meaning), field.doc);
}

std::string layer_doc(const schema::LayerInfo& layer) {
  std::string doc(layer.doc);
  if (schema::is_on_request(layer.layer))
    doc += " Recorded only where --layers or --events asks for it.";
  return doc;
}

// A paragraph that begins at column `indent`; its other lines are indented by four more.
void add_paragraph(std::string& out, std::size_t indent, std::string_view text) {
  constexpr std::size_t kHanging = 4;
  std::size_t at = indent;
  for (const std::string& line : wrapped(text, kPlainWidth - indent - kHanging)) {
    out += fmt::format("{:{}}{}\n", "", at, line);
    at = indent + kHanging;
  }
}

// `lead`, with its meaning in a column beside it.
void add_described(std::string& out, std::string lead, std::string_view text) {
  constexpr std::size_t kColumn = 46;
  for (const std::string& line : wrapped(text, kPlainWidth - kColumn)) {
    if (lead.size() > kColumn)
      out += lead + '\n';
    out += fmt::format("{:<{}}{}\n", lead.size() > kColumn ? "" : lead, kColumn, line);
    lead.clear();
  }
}

void add_fields_text(std::string& out, std::span<const Field> fields) {
  for (const Field& field : fields)
    add_described(out,
                  fmt::format("    {:<18} {:<4} {:<16} ", schema::column_name(field.name),
                              type_name(field), schema::meaning_name(field.meaning)),
                  field.doc);
}

nlohmann::ordered_json fields_json(const Event& event) {
  auto fields = nlohmann::ordered_json::array();
  for (const Field& field : event.fields)
    fields.push_back({{"name", schema::column_name(field.name)},
                      {"type", type_name(field)},
                      {"meaning", schema::meaning_name(field.meaning)},
                      {"role", schema::info(field.role).name},
                      {"doc", field.doc}});
  return fields;
}

} // namespace

std::string event_doc(const schema::Event& event) {
  std::string doc(event.doc);
  if (schema::is_for_disks(event))
    doc += " Recorded only where --events names it, or by default with --device and --mount.";
  else if (schema::is_on_request(event))
    doc += " Recorded only where --events names it.";
  return doc;
}

std::string schema_text() {
  std::string out;
  for (const schema::LayerInfo& layer : schema::kLayers) {
    add_paragraph(out, 0, fmt::format("{}: {}", layer.name, layer_doc(layer)));
    for (const Event* event : events_of(layer.layer)) {
      add_paragraph(out, 2, fmt::format("{}: {}", event->name, event_doc(*event)));
      add_fields_text(out, own_fields(*event));
    }
    out += '\n';
  }
  out += "Every event begins with\n";
  add_fields_text(out, schema::detail::header::kFields);
  out += "\nCounters\n";
  for (const schema::Counter& counter : schema::kCounters)
    add_described(out,
                  fmt::format("  {:<26} {:<8} {:<6} ", counter.name, source_name(counter),
                              schema::severity_name(counter.severity)),
                  counter.doc);
  return out;
}

std::string schema_markdown() {
  std::string out = "# Events\n\nMade by `iotrail schema --markdown` from the files in `schema/`. "
                    "Each event is a table of the same name in SQL and in exports.\n\n"
                    "## Fields that every event begins with\n\n";
  add_fields_markdown(out, schema::detail::header::kFields);
  for (const schema::LayerInfo& layer : schema::kLayers) {
    out += fmt::format("\n## Layer {}\n\n{}\n", layer.name, layer_doc(layer));
    for (const Event* event : events_of(layer.layer)) {
      out +=
          fmt::format("\n### {}\n\n{} Id {:#06x}.\n\n", event->name, event_doc(*event), event->id);
      add_fields_markdown(out, own_fields(*event));
    }
  }
  out += "\n## Meanings\n\n| meaning | |\n|---|---|\n";
  for (const schema::MeaningInfo& meaning : schema::kMeanings)
    out += fmt::format("| {} | {} |\n", meaning.name, markdown_cell(meaning.doc));
  out += "\n## Counters\n\n| counter | source | severity | |\n|---|---|---|---|\n";
  for (const schema::Counter& counter : schema::kCounters)
    out += fmt::format("| {} | {} | {} | {} |\n", counter.name, source_name(counter),
                       schema::severity_name(counter.severity), counter.doc);
  return out;
}

std::string schema_json() {
  nlohmann::ordered_json root;
  root["layers"] = nlohmann::ordered_json::array();
  for (const schema::LayerInfo& layer : schema::kLayers)
    root["layers"].push_back({{"id", static_cast<unsigned>(layer.layer)},
                              {"name", layer.name},
                              {"source", schema::value_name("source", layer.source)},
                              {"doc", layer_doc(layer)}});
  root["events"] = nlohmann::ordered_json::array();
  for (const Event& event : schema::kEvents)
    root["events"].push_back(
        {{"id", event.id},
         {"name", event.name},
         {"layer", schema::layer_name(static_cast<std::uint32_t>(event.layer))},
         {"doc", event_doc(event)},
         {"fields", fields_json(event)}});
  root["meanings"] = nlohmann::ordered_json::array();
  for (const schema::MeaningInfo& meaning : schema::kMeanings)
    root["meanings"].push_back({{"name", meaning.name}, {"doc", meaning.doc}});
  for (const std::string_view table : value_tables())
    for (const schema::Value& value : schema::kValues)
      if (value.table == table)
        root["values"][std::string(table)].push_back(
            {{"number", value.number}, {"name", value.name}});
  root["counters"] = nlohmann::ordered_json::array();
  for (const schema::Counter& counter : schema::kCounters)
    root["counters"].push_back({{"id", counter.id},
                                {"name", counter.name},
                                {"source", source_name(counter)},
                                {"severity", schema::severity_name(counter.severity)},
                                {"doc", counter.doc}});
  return root.dump(2) + "\n";
}

std::string schema_sql() {
  std::string out;
  for (const Event& event : schema::kEvents) {
    out += fmt::format("{}-- {}\nCREATE TABLE {} (\n", out.empty() ? "" : "\n", event_doc(event),
                       event.name);
    for (const Field& field : event.fields) {
      const std::string column =
          fmt::format("  {} {}{}", analysis::sql_name(schema::column_name(field.name)),
                      sql_type(field), &field == &event.fields.back() ? "" : ",");
      out += fmt::format("{:<34} -- {}\n", column, field.doc);
    }
    out += ");\n";
  }
  return out;
}

std::string schema_frozen() {
  std::string out;
  for (const schema::LayerInfo& layer : schema::kLayers)
    out += fmt::format("layer {} {}\n", static_cast<unsigned>(layer.layer), layer.name);
  for (const Event& event : schema::kEvents) {
    out += fmt::format("event {:#06x} {}\n", event.id, event.name);
    for (std::size_t i = 0; i < event.fields.size(); ++i)
      out += fmt::format("field {} {} {} {} {}\n", event.name, i, event.fields[i].name,
                         type_name(event.fields[i]), schema::meaning_name(event.fields[i].meaning));
  }
  for (const schema::Counter& counter : schema::kCounters)
    out += fmt::format("counter {} {} {}\n", counter.id, counter.name, source_name(counter));
  for (const std::string_view table : value_tables())
    for (const schema::Value& value : schema::kValues)
      if (value.table == table)
        out += fmt::format("value {} {} {}\n", table, value.number, value.name);
  return out;
}

} // namespace iotrail::output
