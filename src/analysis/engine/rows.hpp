// SPDX-License-Identifier: BSD-3-Clause
//
// The result of a query, read row by row while the engine computes it (chunks.hpp).
#pragma once

#include <duckdb.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/engine/chunks.hpp"
#include "base/result.hpp"
#include "schema.hpp"

namespace iotrail::analysis {

enum class Kind : std::uint8_t {
  number,
  boolean,
  text,
  nested // a list, a structure or a map, as JSON text
};

struct ResultColumn {
  std::string name;
  Kind kind;
  // Meaning of the numbers, if the column comes from a table in the query.
  schema::Meaning meaning = schema::Meaning::number;
  bool is_asked = false; // the statement filters or orders by it
};

// monostate: NULL. Text in a column of kind `number` is a number too wide for 64 bits, in digits. A
// string_view is valid until the next call of Rows::next().
using Cell =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string_view>;

class Rows {
public:
  // As Chunks::run().
  static Result<Rows> run(Connection& connection, std::string_view sql);

  std::span<const ResultColumn> columns() const { return columns_; }
  duckdb_type type(std::size_t column) const { return types_[column]; }
  void set_meaning(std::size_t column, schema::Meaning meaning) {
    columns_[column].meaning = meaning;
  }
  void set_asked(std::size_t column) { columns_[column].is_asked = true; }

  // false: all rows have been read. An error if that is not certain.
  Result<bool> next();
  std::span<const Cell> row() const { return row_; }

private:
  explicit Rows(Chunks&& chunks) : chunks_(std::move(chunks)) {}
  Cell cell(idx_t column);

  Chunks chunks_;
  idx_t chunk_row_ = 0;
  std::vector<ResultColumn> columns_;
  std::vector<duckdb_type> types_;
  std::vector<Cell> row_;
  std::vector<std::string> digits_; // storage of wide numbers of the current row, by column
};

} // namespace iotrail::analysis
