// SPDX-License-Identifier: BSD-3-Clause
#include "report/small_result.hpp"

#include <algorithm>

namespace iotrail::output {

namespace {

// A copy of a cell, which is valid until the next row.
struct CellCopy {
  analysis::Kind kind;
  Value operator()(std::string_view text) const {
    if (kind == analysis::Kind::text)
      return std::string(text);
    return JsonText{std::string(text)};
  }
  Value operator()(auto other) const { return other; }
};

} // namespace

Result<SmallResult> SmallResult::query(analysis::Engine& engine, std::string_view sql) {
  SmallResult result;
  if (Result<void> done = result.read(engine, sql); !done)
    return std::unexpected(done.error());
  return result;
}

Result<void> SmallResult::read(analysis::Engine& engine, std::string_view sql) {
  auto rows = engine.query(sql);
  if (!rows)
    return std::unexpected(rows.error());
  for (const analysis::ResultColumn& column : rows->columns())
    columns_.push_back(column.name);
  for (;;) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      return {};
    if (rows_.size() == kMostRows) {
      engine.trace().add_limit(fmt::format(
          "NOT ALL ROWS: an answer has more than {}, and the rest is passed over.", kMostRows));
      return {};
    }
    std::vector<Value>& values = rows_.emplace_back();
    for (std::size_t i = 0; i < columns_.size(); ++i)
      values.push_back(std::visit(CellCopy{rows->columns()[i].kind}, rows->row()[i]));
  }
}

const Value& SmallResult::value(std::size_t row, std::string_view column) const {
  static const Value kNull;
  const auto found = std::ranges::find(columns_, column);
  if (found == columns_.end())
    return kNull;
  return rows_[row][static_cast<std::size_t>(found - columns_.begin())];
}

} // namespace iotrail::output
