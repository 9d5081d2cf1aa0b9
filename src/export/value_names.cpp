// SPDX-License-Identifier: BSD-3-Clause
#include "export/value_names.hpp"

#include <algorithm>

#include "value_text.hpp"

namespace iotrail::output {

namespace {

using schema::Meaning;

bool has_name(Meaning meaning) {
  return meaning == Meaning::op || schema::wording(meaning) != schema::Wording::number;
}

// In two's complement; nullopt: not a number.
std::optional<std::uint64_t> number_of(const Cell& cell) {
  if (const auto* number = std::get_if<std::uint64_t>(&cell))
    return *number;
  if (const auto* number = std::get_if<std::int64_t>(&cell))
    return static_cast<std::uint64_t>(*number);
  return std::nullopt;
}

} // namespace

ValueNames::ValueNames(const store::TraceReader& trace, std::span<const ResultColumn> columns)
    : columns_(columns.begin(), columns.end()), cells_(columns.size()), texts_(columns.size()) {
  if (std::ranges::find(columns_, Meaning::device, &ResultColumn::meaning) != columns_.end())
    dictionaries_ = analysis::TraceDictionaries::load(trace);
  for (ResultColumn& column : columns_)
    if (has_name(column.meaning))
      column.kind = Kind::text;
}

std::optional<std::string> ValueNames::name_of(const Cell& cell, Meaning meaning) const {
  const std::optional<std::uint64_t> number = number_of(cell);
  if (!number || !has_name(meaning))
    return std::nullopt;
  if (meaning == Meaning::op)
    return schema::op_text(*number);
  if (meaning == Meaning::device)
    if (const std::string_view device = dictionaries_->device(*number); !device.empty())
      return std::string(device);
  const bool is_error = static_cast<std::int64_t>(*number) < 0;
  if (schema::wording(meaning) == schema::Wording::result && !is_error)
    return std::nullopt;
  return schema::number_text(meaning, *number);
}

std::span<const Cell> ValueNames::row(std::span<const Cell> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells_[i] = cells[i];
    if (columns_[i].meaning == Meaning::op && number_of(cells[i]) == 0)
      cells_[i] = std::monostate{}; // no operation
    else if (std::optional<std::string> text = name_of(cells[i], columns_[i].meaning)) {
      texts_[i] = std::move(*text);
      cells_[i] = std::string_view(texts_[i]);
    }
  }
  return cells_;
}

} // namespace iotrail::output
