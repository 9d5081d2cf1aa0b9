// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of a query over a trace, one by one, for code that knows their columns.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <system_error>
#include <variant>

#include "analysis/engine/engine.hpp"
#include "base/result.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

// Valid until the next row.
class TraceRow {
public:
  explicit TraceRow(std::span<const analysis::Cell> cells) : cells_(cells) {}

  bool is_null(std::size_t column) const {
    return std::holds_alternative<std::monostate>(cells_[column]);
  }
  // "" for NULL
  std::string_view text(std::size_t column) const {
    const auto* text = std::get_if<std::string_view>(&cells_[column]);
    return text != nullptr ? *text : std::string_view();
  }
  // 0 for NULL and negative numbers; the largest number for wider ones
  std::uint64_t number(std::size_t column) const {
    const analysis::Cell& cell = cells_[column];
    if (const auto* number = std::get_if<std::uint64_t>(&cell))
      return *number;
    if (const auto* number = std::get_if<std::int64_t>(&cell))
      return *number < 0 ? 0 : static_cast<std::uint64_t>(*number);
    if (const auto* is_true = std::get_if<bool>(&cell))
      return *is_true ? 1 : 0;
    const auto* digits = std::get_if<std::string_view>(&cell);
    return digits != nullptr ? parsed(*digits) : 0;
  }
  std::int64_t signed_number(std::size_t column) const {
    if (const auto* number = std::get_if<std::int64_t>(&cells_[column]))
      return *number;
    constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(number(column), kLargest));
  }
  const analysis::Cell& cell(std::size_t column) const { return cells_[column]; }
  bool is_true(std::size_t column) const { return number(column) != 0; }

private:
  // A number of a wider type is a text.
  static std::uint64_t parsed(std::string_view digits) {
    std::uint64_t number = 0;
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return problem == std::errc::result_out_of_range ? std::numeric_limits<std::uint64_t>::max()
                                                     : number;
  }

  std::span<const analysis::Cell> cells_;
};

// Calls `each` with every row, until the output fails.
template <class Each>
Result<void> for_each_row(analysis::Engine& engine, std::string_view sql, const Sink& sink,
                          const Each& each) {
  auto rows = engine.query(sql);
  if (!rows)
    return std::unexpected(rows.error());
  while (!sink.is_broken()) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      break;
    each(TraceRow(rows->row()));
  }
  return {};
}

} // namespace iotrail::output
