// SPDX-License-Identifier: BSD-3-Clause
//
// The result of a query, read row by row while the engine computes it: never whole in memory.
#pragma once

#include <duckdb.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace iotrail::analysis {

enum class Kind : std::uint8_t { number, boolean, text };

struct ResultColumn {
  std::string name;
  Kind kind;
};

// monostate: NULL. Text in a column of kind `number` is a number too wide for 64 bits, in digits.
// A string_view lives until the next call of Rows::next().
using Cell =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string_view>;

class Rows {
public:
  // Runs the last statement of `sql` to its first row; the statements before it are run to their end.
  // `connection` must outlive the rows, and have no other query while they are read.
  static Result<Rows> run(duckdb_connection connection, std::string_view sql);

  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&&) = delete;
  ~Rows();

  std::span<const ResultColumn> columns() const { return columns_; }

  // false: there are no more rows.
  Result<bool> next();
  std::span<const Cell> row() const { return row_; }

private:
  Rows() = default;
  Cell cell(idx_t column);
  Result<bool> next_chunk();

  duckdb_result result_{};
  duckdb_data_chunk chunk_ = nullptr;
  idx_t chunk_row_ = 0;
  idx_t chunk_rows_ = 0;
  std::vector<ResultColumn> columns_;
  std::vector<duckdb_type> types_;
  std::vector<Cell> row_;
  std::vector<std::string> digits_; // storage of wide numbers of the current row, by column
};

} // namespace iotrail::analysis
