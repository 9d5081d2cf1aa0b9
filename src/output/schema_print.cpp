// SPDX-License-Identifier: BSD-3-Clause
#include "output/schema_print.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/sql_text.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

using schema::Event;
using schema::Field;

std::string_view severity_name(schema::Severity severity) {
  switch (severity) {
  case schema::Severity::info:
    return "info";
  case schema::Severity::error:
    return "error";
  case schema::Severity::loss:
    return "loss";
  }
  return "";
}

std::string_view type_name(const Field& field) {
  return schema::info(field.type).name;
}

// Names of values read better than their numbers: SQL shows them as text.
std::string_view sql_type(const Field& field) {
  return schema::meaning_name(field.meaning).starts_with("value_")
             ? schema::info(schema::Type::text).sql_type
             : schema::info(field.type).sql_type;
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

// Tables of values in the order of their first row.
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
    out += fmt::format("| `{}` | {} | {} | {} |\n", field.name, type_name(field),
                       schema::meaning_name(field.meaning), field.doc);
}

std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|')
      cell += '\\';
    cell += c;
  }
  return cell;
}

nlohmann::ordered_json fields_json(const Event& event) {
  auto fields = nlohmann::ordered_json::array();
  for (const Field& field : event.fields)
    fields.push_back({{"name", field.name},
                      {"type", type_name(field)},
                      {"meaning", schema::meaning_name(field.meaning)},
                      {"doc", field.doc}});
  return fields;
}

} // namespace

std::string schema_text() {
  std::string out;
  for (const schema::LayerInfo& layer : schema::kLayers) {
    out += fmt::format("{}: {}\n", layer.name, layer.doc);
    for (const Event* event : events_of(layer.layer)) {
      out += fmt::format("  {}: {}\n", event->name, event->doc);
      for (const Field& field : own_fields(*event))
        out += fmt::format("    {:<20} {:<5} {:<18} {}\n", field.name, type_name(field),
                           schema::meaning_name(field.meaning), field.doc);
    }
    out += '\n';
  }
  out += "Every event begins with\n";
  for (const Field& field : schema::detail::header::kFields)
    out += fmt::format("    {:<20} {:<5} {:<18} {}\n", field.name, type_name(field),
                       schema::meaning_name(field.meaning), field.doc);
  out += "\nCounters\n";
  for (const schema::Counter& counter : schema::kCounters)
    out += fmt::format("  {:<26} {:<8} {:<6} {}\n", counter.name, source_name(counter),
                       severity_name(counter.severity), counter.doc);
  return out;
}

std::string schema_markdown() {
  std::string out = "# Events\n\nMade by `iotrail schema --markdown` from the files in `schema/`. "
                    "Each event is a table of the same name in SQL and in exports.\n\n"
                    "## Fields that every event begins with\n\n";
  add_fields_markdown(out, schema::detail::header::kFields);
  for (const schema::LayerInfo& layer : schema::kLayers) {
    out += fmt::format("\n## Layer {}\n\n{}\n", layer.name, layer.doc);
    for (const Event* event : events_of(layer.layer)) {
      out += fmt::format("\n### {}\n\n{} Id {:#06x}.\n\n", event->name, event->doc, event->id);
      add_fields_markdown(out, own_fields(*event));
    }
  }
  out += "\n## Meanings\n\n| meaning | |\n|---|---|\n";
  for (const schema::MeaningInfo& meaning : schema::kMeanings)
    out += fmt::format("| {} | {} |\n", meaning.name, markdown_cell(meaning.doc));
  out += "\n## Counters\n\n| counter | source | severity | |\n|---|---|---|---|\n";
  for (const schema::Counter& counter : schema::kCounters)
    out += fmt::format("| {} | {} | {} | {} |\n", counter.name, source_name(counter),
                       severity_name(counter.severity), counter.doc);
  return out;
}

std::string schema_json() {
  nlohmann::ordered_json root;
  root["layers"] = nlohmann::ordered_json::array();
  for (const schema::LayerInfo& layer : schema::kLayers)
    root["layers"].push_back(
        {{"id", static_cast<unsigned>(layer.layer)}, {"name", layer.name}, {"doc", layer.doc}});
  root["events"] = nlohmann::ordered_json::array();
  for (const Event& event : schema::kEvents)
    root["events"].push_back(
        {{"id", event.id},
         {"name", event.name},
         {"layer", schema::layer_name(static_cast<std::uint32_t>(event.layer))},
         {"doc", event.doc},
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
                                {"severity", severity_name(counter.severity)},
                                {"doc", counter.doc}});
  return root.dump(2) + "\n";
}

std::string schema_sql() {
  std::string out;
  for (const Event& event : schema::kEvents) {
    out +=
        fmt::format("{}-- {}\nCREATE TABLE {} (\n", out.empty() ? "" : "\n", event.doc, event.name);
    for (const Field& field : event.fields) {
      const std::string column =
          fmt::format("  {} {}{}", analysis::sql_name(field.name), sql_type(field),
                      &field == &event.fields.back() ? "" : ",");
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
    out += fmt::format("counter {} {} {} {}\n", counter.id, counter.name, source_name(counter),
                       severity_name(counter.severity));
  for (const std::string_view table : value_tables())
    for (const schema::Value& value : schema::kValues)
      if (value.table == table)
        out += fmt::format("value {} {} {}\n", table, value.number, value.name);
  return out;
}

} // namespace iotrail::output
