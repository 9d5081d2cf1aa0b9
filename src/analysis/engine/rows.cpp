// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "analysis/engine/statement.hpp"

namespace iotrail::analysis {

namespace {

Kind kind_of(duckdb_type type) {
  switch (type) {
  case DUCKDB_TYPE_BOOLEAN:
    return Kind::boolean;
  case DUCKDB_TYPE_VARCHAR:
    return Kind::text;
  default:
    return Kind::number;
  }
}

std::string digits_of(duckdb_hugeint value) {
  const bool negative = value.upper < 0;
  auto rest = (static_cast<unsigned __int128>(static_cast<std::uint64_t>(value.upper)) << 64U) |
              value.lower;
  if (negative)
    rest = -rest;
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (negative)
    digits += '-';
  std::ranges::reverse(digits);
  return digits;
}

// Kind of a column with cells cast to text.
Kind kind_of_cast(duckdb_type type) {
  if (type == DUCKDB_TYPE_DECIMAL || type == DUCKDB_TYPE_UHUGEINT)
    return Kind::number;
  return is_nested(type) ? Kind::nested : Kind::text;
}

std::string metric(duckdb_profiling_info node, const char* name) {
  duckdb_value value = node ? duckdb_profiling_info_get_value(node, name) : nullptr;
  if (!value)
    return {};
  char* text = duckdb_get_varchar(value);
  std::string found = text ? text : "";
  duckdb_free(text);
  duckdb_destroy_value(&value);
  return found;
}

// As counted by the operator that gives the result; 0 also if the engine has no such operator.
std::uint64_t rows_counted(duckdb_connection connection, duckdb_result result) {
  if (duckdb_result_statement_type(result) != DUCKDB_STATEMENT_TYPE_SELECT)
    return 0;
  duckdb_profiling_info node = duckdb_get_profiling_info(connection);
  idx_t last = 0; // the last child: the result of a common table expression
  do {
    node = duckdb_profiling_info_get_child(node, last);
    last = node ? duckdb_profiling_info_get_child_count(node) : 0;
  } while (last-- > 0 && metric(node, "OPERATOR_TYPE") == "CTE");
  return std::strtoull(metric(node, "OPERATOR_CARDINALITY").c_str(), nullptr, 10);
}

} // namespace

Result<void> count_rows(const Connection& connection) {
  for (const char* setting :
       {"SET enable_profiling = 'no_output'",
        R"(SET custom_profiling_settings = '{"OPERATOR_CARDINALITY": "true"}')"})
    if (duckdb_query(connection.handle, setting, nullptr) != DuckDBSuccess)
      return fail("SQL engine", fmt::format("it refuses: {}", setting));
  return {};
}

Result<Rows> Rows::run(Connection& connection, std::string_view sql) {
  ++connection.queries;
  Rows rows;
  rows.connection_ = &connection;
  rows.query_ = connection.queries;
  if (connection.time_limit_ns != 0)
    rows.timer_ = std::make_unique<QueryTimer>(connection.handle, connection.time_limit_ns,
                                               connection.on_overdue);
  Statement statement;
  const auto types = prepare_last(connection, std::string(sql), statement, true);
  if (!types)
    return rows.failed(types.error());
  if (duckdb_execute_prepared_streaming(statement.handle, &rows.result_) != DuckDBSuccess)
    return rows.failed(query_failed(duckdb_result_error(&rows.result_)).error());
  for (idx_t i = 0; i < duckdb_column_count(&rows.result_); ++i) {
    const duckdb_type type = duckdb_column_type(&rows.result_, i);
    rows.types_.push_back(type);
    const bool is_cast = type == DUCKDB_TYPE_VARCHAR && i < types->size();
    rows.columns_.push_back({duckdb_column_name(&rows.result_, i),
                             is_cast ? kind_of_cast((*types)[i]) : kind_of(type)});
  }
  rows.row_.resize(rows.columns_.size());
  rows.digits_.resize(rows.columns_.size());
  return rows;
}

Rows::Rows(Rows&& other) noexcept
    : connection_(other.connection_), timer_(std::move(other.timer_)), query_(other.query_),
      delivered_(other.delivered_), result_(std::exchange(other.result_, {})),
      chunk_(std::exchange(other.chunk_, nullptr)), chunk_row_(other.chunk_row_),
      chunk_rows_(other.chunk_rows_), columns_(std::move(other.columns_)),
      types_(std::move(other.types_)), row_(std::move(other.row_)),
      digits_(std::move(other.digits_)) {}

Rows::~Rows() {
  duckdb_destroy_data_chunk(&chunk_);
  duckdb_destroy_result(&result_);
}

Result<bool> Rows::next() {
  if (chunk_row_ == chunk_rows_) {
    auto more = next_chunk();
    if (!more || !*more)
      return more;
  }
  for (idx_t column = 0; column < columns_.size(); ++column)
    row_[column] = cell(column);
  ++chunk_row_;
  return true;
}

Result<bool> Rows::next_chunk() {
  do {
    duckdb_destroy_data_chunk(&chunk_);
    chunk_ = duckdb_fetch_chunk(result_);
    if (!chunk_) {
      chunk_row_ = chunk_rows_ = 0;
      if (const char* why = duckdb_result_error(&result_); why && *why)
        return failed(query_failed(why).error());
      return end();
    }
    chunk_row_ = 0;
    chunk_rows_ = duckdb_data_chunk_get_size(chunk_);
  } while (chunk_rows_ == 0);
  delivered_ += chunk_rows_;
  return true;
}

std::unexpected<Error> Rows::failed(Error failure) const {
  return std::unexpected(timer_ ? timer_->explained(std::move(failure)) : std::move(failure));
}

// No chunk and no error: the end, or a stream that the engine closed.
Result<bool> Rows::end() const {
  if (connection_->queries != query_)
    return query_failed("another query was begun before all its rows were read");
  const std::uint64_t counted = rows_counted(connection_->handle, result_);
  if (counted > delivered_)
    return failed(
        query_failed(
            fmt::format("the engine made {} rows and delivered {}", counted, delivered_).c_str())
            .error());
  return false;
}

Cell Rows::cell(idx_t column) {
  duckdb_vector vector = duckdb_data_chunk_get_vector(chunk_, column);
  std::uint64_t* validity = duckdb_vector_get_validity(vector);
  if (validity && !duckdb_validity_row_is_valid(validity, chunk_row_))
    return std::monostate{};
  const void* data = duckdb_vector_get_data(vector);
  const auto at = [&]<class T>(T) { return static_cast<const T*>(data)[chunk_row_]; };
  switch (types_[column]) {
  case DUCKDB_TYPE_BOOLEAN:
    return at(bool{});
  case DUCKDB_TYPE_TINYINT:
    return std::int64_t{at(std::int8_t{})};
  case DUCKDB_TYPE_SMALLINT:
    return std::int64_t{at(std::int16_t{})};
  case DUCKDB_TYPE_INTEGER:
    return std::int64_t{at(std::int32_t{})};
  case DUCKDB_TYPE_BIGINT:
    return at(std::int64_t{});
  case DUCKDB_TYPE_UTINYINT:
    return std::uint64_t{at(std::uint8_t{})};
  case DUCKDB_TYPE_USMALLINT:
    return std::uint64_t{at(std::uint16_t{})};
  case DUCKDB_TYPE_UINTEGER:
    return std::uint64_t{at(std::uint32_t{})};
  case DUCKDB_TYPE_UBIGINT:
    return at(std::uint64_t{});
  case DUCKDB_TYPE_FLOAT:
    return static_cast<double>(at(float{}));
  case DUCKDB_TYPE_DOUBLE:
    return at(double{});
  case DUCKDB_TYPE_HUGEINT:
    digits_[column] = digits_of(at(duckdb_hugeint{}));
    return std::string_view(digits_[column]);
  case DUCKDB_TYPE_VARCHAR: {
    auto& text = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector))[chunk_row_];
    return std::string_view(duckdb_string_t_data(&text), duckdb_string_t_length(text));
  }
  default: // a statement that cannot be wrapped yields other types only for results without rows
    return std::monostate{};
  }
}

} // namespace iotrail::analysis
