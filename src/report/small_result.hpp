// SPDX-License-Identifier: BSD-3-Clause
//
// A small query result, completely in memory and read by column name, for the report. A missing
// column is NULL: a trace may contain a table in place of one of our views.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

class SmallResult {
public:
  // No answer about a recorder's trace has so many; a forged trace may ask for any memory.
  static constexpr std::size_t kMostRows = 1U << 18U;

  static Result<SmallResult> query(analysis::Engine& engine, std::string_view sql);
  // Keeps the rows before a failure.
  Result<void> read(analysis::Engine& engine, std::string_view sql);

  std::size_t size() const { return rows_.size(); }
  const std::vector<std::string>& columns() const { return columns_; }
  std::vector<std::vector<Value>> take_rows() { return std::move(rows_); }

  const Value& value(std::size_t row, std::string_view column) const;
  bool is_null(std::size_t row, std::string_view column) const {
    return !is_known(value(row, column));
  }
  std::uint64_t number(std::size_t row, std::string_view column) const {
    return number_of(value(row, column));
  }
  double real(std::size_t row, std::string_view column) const {
    return real_of(value(row, column));
  }
  std::string text(std::size_t row, std::string_view column) const {
    return text_of(value(row, column));
  }

private:
  std::vector<std::string> columns_;
  std::vector<std::vector<Value>> rows_;
};

} // namespace iotrail::output
