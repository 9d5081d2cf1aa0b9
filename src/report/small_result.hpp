// SPDX-License-Identifier: BSD-3-Clause
//
// A query result known to be small, whole in memory and read by column name. For the report. A column that it does not
// have is NULL: a trace may hold a table in the place of one of our views.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/engine.hpp"

namespace iotrail::output {

class SmallResult {
public:
  static Result<SmallResult> query(analysis::Engine& engine, std::string_view sql);

  std::size_t size() const { return rows_.size(); }
  bool is_null(std::size_t row, std::string_view column) const;
  std::uint64_t number(std::size_t row,
                       std::string_view column) const;         // 0: NULL, negative, or no integer
  double real(std::size_t row, std::string_view column) const; // 0: NULL
  std::string text(std::size_t row, std::string_view column) const; // "": NULL

private:
  struct Value {
    bool is_null = true;
    std::uint64_t number = 0;
    double real = 0;
    std::string text;
  };
  static Value value_of(const analysis::Cell& cell);
  const Value& at(std::size_t row, std::string_view column) const;

  std::vector<std::string> columns_;
  std::vector<std::vector<Value>> rows_;
};

} // namespace iotrail::output
