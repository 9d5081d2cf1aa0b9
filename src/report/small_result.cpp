// SPDX-License-Identifier: BSD-3-Clause
#include "report/small_result.hpp"

#include <algorithm>

#include "export/output.hpp"

namespace iotrail::output {

SmallResult::Value SmallResult::value_of(const analysis::Cell& cell) {
  Value value{std::holds_alternative<std::monostate>(cell), 0, 0, cell_text(cell)};
  if (const auto* natural = std::get_if<std::uint64_t>(&cell)) {
    value.number = *natural;
    value.real = static_cast<double>(*natural);
  } else if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    value.number = static_cast<std::uint64_t>(std::max<std::int64_t>(0, *integer));
    value.real = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    value.real = *real;
  }
  return value;
}

Result<SmallResult> SmallResult::query(analysis::Engine& engine, std::string_view sql) {
  auto rows = engine.query(sql);
  if (!rows)
    return std::unexpected(rows.error());
  SmallResult result;
  for (const ResultColumn& column : rows->columns())
    result.columns_.push_back(column.name);
  for (;;) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      return result;
    std::vector<Value> values;
    for (const Cell& cell : rows->row()) {
      values.push_back(value_of(cell));
    }
    result.rows_.push_back(std::move(values));
  }
}

const SmallResult::Value& SmallResult::at(std::size_t row, std::string_view column) const {
  static const Value kNull;
  const auto found = std::ranges::find(columns_, column);
  if (found == columns_.end())
    return kNull;
  return rows_[row][static_cast<std::size_t>(found - columns_.begin())];
}

bool SmallResult::is_null(std::size_t row, std::string_view column) const {
  return at(row, column).is_null;
}
std::uint64_t SmallResult::number(std::size_t row, std::string_view column) const {
  return at(row, column).number;
}
double SmallResult::real(std::size_t row, std::string_view column) const {
  return at(row, column).real;
}
std::string SmallResult::text(std::size_t row, std::string_view column) const {
  return at(row, column).text;
}

} // namespace iotrail::output
