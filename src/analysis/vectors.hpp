// SPDX-License-Identifier: BSD-3-Clause
//
// Values in the columns that the SQL engine hands to a function.
#pragma once

#include <duckdb.h>

#include <cstdint>
#include <string_view>

namespace iotrail::analysis {

// Rows with a NULL argument are NULL by the engine's default; their data may hold anything, but is there.
inline bool is_null(duckdb_vector vector, idx_t row) {
  std::uint64_t* validity = duckdb_vector_get_validity(vector);
  return validity && !duckdb_validity_row_is_valid(validity, row);
}

template <class T> T number_at(duckdb_vector vector, idx_t row) {
  return static_cast<const T*>(duckdb_vector_get_data(vector))[row];
}

// Lives as long as the vector.
inline std::string_view text_at(duckdb_vector vector, idx_t row) {
  auto& text = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector))[row];
  return {duckdb_string_t_data(&text), duckdb_string_t_length(text)};
}

} // namespace iotrail::analysis
