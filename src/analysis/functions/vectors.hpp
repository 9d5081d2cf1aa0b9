// SPDX-License-Identifier: BSD-3-Clause
//
// Values in the columns that the SQL engine passes to a function.
#pragma once

#include <duckdb.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.hpp"

namespace iotrail::analysis {

// By default the engine returns NULL for a NULL argument; the data of such a row is readable but
// arbitrary.
inline bool is_null(duckdb_vector vector, idx_t row) {
  std::uint64_t* validity = duckdb_vector_get_validity(vector);
  return validity && !duckdb_validity_row_is_valid(validity, row);
}

template <class T> T number_at(duckdb_vector vector, idx_t row) {
  return static_cast<const T*>(duckdb_vector_get_data(vector))[row];
}

// Valid as long as the vector.
inline std::string_view text_at(duckdb_vector vector, idx_t row) {
  auto& text = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector))[row];
  return {duckdb_string_t_data(&text), duckdb_string_t_length(text)};
}

// The engine assumes that texts are UTF-8.
inline void assign_text(duckdb_vector vector, idx_t row, std::string_view text) {
  if (is_utf8(text) && !text.contains("\\x"))
    return duckdb_vector_assign_string_element_len(vector, row, text.data(), text.size());
  const std::string valid = as_utf8(text);
  duckdb_vector_assign_string_element_len(vector, row, valid.data(), valid.size());
}

} // namespace iotrail::analysis
