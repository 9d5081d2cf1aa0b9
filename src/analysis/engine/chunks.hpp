// SPDX-License-Identifier: BSD-3-Clause
//
// The result of a query, read chunk by chunk while the engine computes it: never whole in memory.
// The engine ends an aborted stream like a complete one, so the number of rows is checked against
// the engine's own count.
#pragma once

#include <duckdb.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/arrow_interface.hpp"
#include "analysis/engine/query_timer.hpp"
#include "analysis/engine/statement.hpp"
#include "base/result.hpp"

namespace iotrail::analysis {

// Lets the engine count the rows of each query on this connection; call it once, before the first
// query.
Result<void> count_rows(const Connection& connection);

class Chunks {
public:
  // Runs the last statement of `sql` up to its first row, after running the statements before it to
  // their end. A connection that only reads accepts one statement. `connection` must outlive the
  // chunks, and run no other query while they are read.
  static Result<Chunks> run(Connection& connection, std::string_view sql, Form form);

  Chunks(Chunks&& other) noexcept;
  Chunks& operator=(Chunks&&) = delete;
  ~Chunks();

  // false: all chunks have been read. An error if that is not certain.
  Result<bool> next();
  // The current one, valid until next(). It has at least one row; before the first and after the
  // last call it is nullptr.
  duckdb_data_chunk chunk() const { return chunk_; }
  idx_t rows() const { return rows_; }

  idx_t columns() { return duckdb_column_count(&result_); }
  std::string name(idx_t column) { return duckdb_column_name(&result_, column); }
  duckdb_type type(idx_t column) { return duckdb_column_type(&result_, column); }
  // Of the columns of the statement itself, before `form` changed some.
  std::span<const duckdb_type> asked_types() const { return asked_types_; }

  // The types of all columns, and the values of the current chunk, as children of a structure.
  Result<void> to_arrow(OwnedArrow<ArrowSchema>& schema);
  Result<void> to_arrow(OwnedArrow<ArrowArray>& values);

private:
  Chunks() = default;
  Result<bool> end() const;
  std::unexpected<Error> failed(Error failure) const;

  const Connection* connection_ = nullptr;
  std::unique_ptr<QueryTimer> timer_; // nullptr: the time is not limited
  std::uint64_t query_ = 0;           // number of this query on the connection
  std::uint64_t delivered_ = 0;
  duckdb_result result_{};
  duckdb_data_chunk chunk_ = nullptr;
  idx_t rows_ = 0;
  std::vector<duckdb_type> asked_types_;
};

} // namespace iotrail::analysis
