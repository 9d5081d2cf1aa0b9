// SPDX-License-Identifier: BSD-3-Clause
//
// The result of a query, read row by row while the engine computes it: never whole in memory. The
// engine ends an aborted stream like a complete one, so the number of rows is checked against the
// engine's own count.
#pragma once

#include <duckdb.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/engine/query_timer.hpp"
#include "analysis/engine/statement.hpp"
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

// Lets the engine count the rows of each query on this connection; call it once, before the first
// query.
Result<void> count_rows(const Connection& connection);

class Rows {
public:
  // Runs the last statement of `sql` up to its first row, after running the statements before it to
  // their end. A connection that only reads accepts one statement. `connection` must outlive the
  // rows, and run no other query while they are read.
  static Result<Rows> run(Connection& connection, std::string_view sql);

  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&&) = delete;
  ~Rows();

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
  Rows() = default;
  Cell cell(idx_t column);
  Result<bool> next_chunk();
  Result<bool> end() const;

  std::unexpected<Error> failed(Error failure) const;

  const Connection* connection_ = nullptr;
  std::unique_ptr<QueryTimer> timer_; // nullptr: the time is not limited
  std::uint64_t query_ = 0;           // number of this query on the connection
  std::uint64_t delivered_ = 0;
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
