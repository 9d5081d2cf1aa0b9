// SPDX-License-Identifier: BSD-3-Clause
//
// For the tests: the rows of a table of a trace, with the texts of their keys.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/reader/trace_reader.hpp"

namespace iotrail::capture::snapshot {

struct SnapshotRow {
  std::map<std::string, std::int64_t, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> texts;

  std::int64_t operator[](std::string_view name) const { return numbers.find(name)->second; }
  const std::string& text(std::string_view name) const { return texts.find(name)->second; }
};

namespace detail {

using TakenTexts = std::map<std::int64_t, std::string>;

inline TakenTexts read_taken_texts(const store::TraceReader& reader) {
  TakenTexts texts;
  const store::TableInfo* strings = reader.table("strings");
  for (const store::BlockInfo& block : reader.blocks())
    if (block.kind == strings->kind) {
      const auto columns = *reader.read(block);
      for (std::size_t row = 0; row < block.rows; ++row)
        texts[static_cast<std::int64_t>(std::get<store::Numbers>(columns[0])[row])] =
            std::get<store::Texts>(columns[1])[row];
    }
  return texts;
}

inline SnapshotRow taken_row(const store::TableInfo& table,
                             const std::vector<store::Column>& columns, std::size_t row,
                             const TakenTexts& texts) {
  SnapshotRow taken;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const store::ColumnInfo& column = table.columns[i];
    const auto number = static_cast<std::int64_t>(std::get<store::Numbers>(columns[i])[row]);
    taken.numbers[column.name] = number;
    if (schema::is_string_key(column.meaning))
      taken.texts[column.name] = number == 0 ? "" : texts.at(number);
  }
  return taken;
}

} // namespace detail

inline std::vector<SnapshotRow> read_taken_rows(const std::filesystem::path& trace,
                                                std::string_view name) {
  const auto reader = store::TraceReader::open(trace);
  const auto texts = detail::read_taken_texts(**reader);
  const store::TableInfo* table = (*reader)->table(name);
  std::vector<SnapshotRow> rows;
  for (const store::BlockInfo& block : (*reader)->blocks())
    if (block.kind == table->kind) {
      const auto columns = *(*reader)->read(block);
      for (std::size_t row = 0; row < block.rows; ++row)
        rows.push_back(detail::taken_row(*table, columns, row, texts));
    }
  return rows;
}

} // namespace iotrail::capture::snapshot
