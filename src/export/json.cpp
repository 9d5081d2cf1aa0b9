// SPDX-License-Identifier: BSD-3-Clause
#include "export/json.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/utf8.hpp"
#include "text/printable.hpp"

namespace iotrail::output {

namespace {

bool needs_no_escape(std::string_view text) {
  for (const char c : text)
    if (c < 0x20 || c == '"' || c == '\\' ||
        c == 0x7f) // char is signed: this also excludes non-ASCII characters
      return false;
  return true;
}

} // namespace

void put_json_object(Sink& sink, std::span<const ResultColumn> columns,
                     std::span<const Cell> cells) {
  sink.put('{');
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0)
      sink.put(',');
    put_json_text(sink, columns[i].name);
    sink.put(':');
    put_json_cell(sink, cells[i], columns[i].kind);
  }
  sink.put('}');
}

void put_json_text(Sink& sink, std::string_view text) {
  if (needs_no_escape(text)) {
    sink.put('"');
    sink.put(text);
    sink.put('"');
    return;
  }
  using nlohmann::json;
  const json valid = is_utf8(text) ? json(text) : json(as_utf8(text));
  sink.put(valid.dump(-1, ' ', !is_printable(text)));
}

std::string json_text(const nlohmann::json& json) {
  return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

// The engine's text of a nested value; NaN in it is not JSON.
static void put_json_nested(Sink& sink, std::string_view text) {
  using nlohmann::json;
  if (!json::accept(text))
    return put_json_text(sink, text);
  if (is_printable(text))
    return sink.put(text);
  sink.put(json::parse(text).dump(-1, ' ', true, json::error_handler_t::replace));
}

void put_json_cell(Sink& sink, const Cell& cell, Kind kind) {
  if (std::holds_alternative<std::monostate>(cell))
    return sink.put("null");
  if (const auto* number = std::get_if<double>(&cell); number && !std::isfinite(*number))
    return sink.put("null");
  if (const auto* text = std::get_if<std::string_view>(&cell); text && kind == Kind::text)
    return put_json_text(sink, *text);
  if (const auto* text = std::get_if<std::string_view>(&cell); text && kind == Kind::nested)
    return put_json_nested(sink, *text);
  sink.put(cell_text(cell));
}

void JsonOutput::begin(std::span<const ResultColumn> columns) {
  columns_ = columns;
}

void JsonOutput::row(std::span<const Cell> cells) {
  sink_.put(is_empty_ ? "[\n" : ",\n");
  is_empty_ = false;
  put_json_object(sink_, columns_, cells);
}

void JsonOutput::end() {
  sink_.put(is_empty_ ? "[]\n" : "\n]\n");
}

} // namespace iotrail::output
