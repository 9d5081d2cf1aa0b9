// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/rows.hpp"

#include <algorithm>
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

} // namespace

Result<Rows> Rows::run(Connection& connection, std::string_view sql) {
  auto chunks = Chunks::run(connection, sql, Form::plain);
  if (!chunks)
    return std::unexpected(chunks.error());
  Rows rows(std::move(*chunks));
  const std::span<const duckdb_type> asked = rows.chunks_.asked_types();
  for (idx_t i = 0; i < rows.chunks_.columns(); ++i) {
    const duckdb_type type = rows.chunks_.type(i);
    rows.types_.push_back(type);
    const bool is_cast = type == DUCKDB_TYPE_VARCHAR && i < asked.size();
    rows.columns_.push_back(
        {rows.chunks_.name(i), is_cast ? kind_of_cast(asked[i]) : kind_of(type)});
  }
  rows.row_.resize(rows.columns_.size());
  rows.digits_.resize(rows.columns_.size());
  return rows;
}

Result<bool> Rows::next() {
  if (chunk_row_ == chunks_.rows()) {
    auto more = chunks_.next();
    chunk_row_ = 0;
    if (!more || !*more)
      return more;
  }
  for (idx_t column = 0; column < columns_.size(); ++column)
    row_[column] = cell(column);
  ++chunk_row_;
  return true;
}

Cell Rows::cell(idx_t column) {
  duckdb_vector vector = duckdb_data_chunk_get_vector(chunks_.chunk(), column);
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
