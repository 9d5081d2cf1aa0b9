// SPDX-License-Identifier: BSD-3-Clause
#include "export/event_rows.hpp"

#include "value_text.hpp"

namespace iotrail::output {

using store::EventStream;

EventRows::EventRows(const store::TableInfo& table, const analysis::TraceDictionaries& dictionaries,
                     bool raw, bool with_event)
    : table_(table), dictionaries_(dictionaries), raw_(raw), with_event_(with_event),
      storage_(table.columns.size()) {
  if (with_event)
    columns_.push_back({"event", Kind::text});
  for (const store::ColumnInfo& column : table.columns) {
    const std::string_view name = schema::column_name(column.name);
    columns_.push_back({with_event && name == "event" ? "of_event" : std::string(name),
                        is_text(column) ? Kind::text : Kind::number});
  }
  cells_.resize(columns_.size());
}

std::span<const Cell> EventRows::cells(const EventStream& event) {
  std::size_t next = 0;
  if (with_event_)
    cells_[next++] = std::string_view(table_.name);
  for (std::size_t i = 0; i < table_.columns.size(); ++i)
    cells_[next++] = cell(event, i);
  return cells_;
}

// Keys of dictionary tables stay numbers, since events refer to them.
bool EventRows::is_text(const store::ColumnInfo& column) const {
  using schema::Meaning;
  if (column.type == schema::Type::text)
    return true;
  if (raw_)
    return false;
  if (schema::is_string_key(column.meaning))
    return !table_.is_dictionary();
  switch (column.meaning) {
  case Meaning::file:
  case Meaning::device:
  case Meaning::op:
    return !table_.is_dictionary();
  default:
    return !schema::value_table(column.meaning).empty();
  }
}

static Cell known_or_null(std::string_view text) {
  return text.empty() ? Cell{} : Cell{text};
}

Cell EventRows::keep(std::size_t column, std::string text) {
  storage_[column] = std::move(text);
  return std::string_view(storage_[column]);
}

Cell EventRows::named(const EventStream& event, std::size_t column) {
  const schema::Meaning meaning = table_.columns[column].meaning;
  const std::uint64_t raw = event.number(column);
  if (meaning == schema::Meaning::file)
    return known_or_null(dictionaries_.file(raw, analysis::naming_time_ns(event)));
  if (schema::is_string_key(meaning))
    return known_or_null(dictionaries_.text(raw));
  if (meaning == schema::Meaning::op)
    return raw == 0 ? Cell{} : keep(column, schema::op_text(raw));
  if (meaning == schema::Meaning::device)
    if (const std::string_view device = dictionaries_.device(raw); !device.empty())
      return device;
  return keep(column, schema::number_text(meaning, raw));
}

Cell EventRows::cell(const EventStream& event, std::size_t column) {
  const store::ColumnInfo& info = table_.columns[column];
  if (info.type == schema::Type::text)
    return event.text(column);
  if (is_text(info))
    return named(event, column);
  if (schema::info(info.type).is_signed)
    return static_cast<std::int64_t>(event.number(column));
  return event.number(column);
}

} // namespace iotrail::output
