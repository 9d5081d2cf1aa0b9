// SPDX-License-Identifier: BSD-3-Clause
//
// Cells of a query as the JSON of protobuf has them: 64-bit numbers are texts.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "analysis/engine/engine.hpp"

namespace iotrail::compat::iotrace {

using Row = std::span<const analysis::Cell>;

// 0: no number.
inline std::uint64_t natural(const analysis::Cell& cell) {
  if (const auto* number = std::get_if<std::uint64_t>(&cell))
    return *number;
  if (const auto* number = std::get_if<std::int64_t>(&cell))
    return *number < 0 ? 0 : static_cast<std::uint64_t>(*number);
  if (const auto* number = std::get_if<double>(&cell))
    return *number < 0 || !(*number < 1.8e19) ? 0 : static_cast<std::uint64_t>(*number);
  return 0;
}

inline std::string digits(const analysis::Cell& cell) {
  return fmt::to_string(natural(cell));
}

inline double real(const analysis::Cell& cell) {
  const auto* number = std::get_if<double>(&cell);
  return number == nullptr ? static_cast<double>(natural(cell))
                           : (std::isfinite(*number) ? *number : 0);
}

inline bool truth(const analysis::Cell& cell) {
  const auto* is = std::get_if<bool>(&cell);
  return is != nullptr && *is;
}

inline std::string text(const analysis::Cell& cell) {
  const auto* found = std::get_if<std::string_view>(&cell);
  return found == nullptr ? std::string() : std::string(*found);
}

inline bool is_null(const analysis::Cell& cell) {
  return std::holds_alternative<std::monostate>(cell);
}

// Calls `visit(row)` for each row, as long as it returns true.
template <class Visit>
Result<void> for_each_row(analysis::Engine& engine, const std::string& sql, const Visit& visit) {
  auto rows = engine.query(sql);
  if (!rows)
    return std::unexpected(rows.error());
  for (;;) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more || !visit(rows->row()))
      return {};
  }
}

} // namespace iotrail::compat::iotrace
