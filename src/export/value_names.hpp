// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of a query with names instead of numbers, as in `script`: ENOENT, O_RDWR|O_CREAT, sda,
// 1.27. Results other than errors, and values without a name, stay numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/names/trace_dictionaries.hpp"
#include "export/output.hpp"

namespace iotrail::output {

class ValueNames {
public:
  ValueNames(const store::TraceReader& trace, std::span<const ResultColumn> columns);

  std::span<const ResultColumn> columns() const { return columns_; }
  // Valid until the next call.
  std::span<const Cell> row(std::span<const Cell> cells);

private:
  std::optional<std::string> name_of(const Cell& cell, schema::Meaning meaning) const;

  std::optional<analysis::TraceDictionaries> dictionaries_; // if a column needs them
  std::vector<ResultColumn> columns_;
  std::vector<Cell> cells_;
  std::vector<std::string> texts_; // for the current row, by column
};

} // namespace iotrail::output
