// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/functions/functions.hpp"

#include <initializer_list>
#include <unordered_map>

#include "analysis/functions/busiest_share.hpp"
#include "analysis/functions/overlap_times.hpp"
#include "analysis/functions/peak_length.hpp"
#include "analysis/functions/span_lists.hpp"
#include "analysis/functions/union_length.hpp"
#include "analysis/functions/vectors.hpp"
#include "value_text.hpp"
#include "wait_text.hpp"

namespace iotrail::analysis {

namespace {

void assign(duckdb_vector output, idx_t row, const std::string& text) {
  duckdb_vector_assign_string_element_len(output, row, text.data(), text.size());
}

void set_null(duckdb_vector output, idx_t row) {
  duckdb_vector_ensure_validity_writable(output);
  duckdb_validity_set_row_invalid(duckdb_vector_get_validity(output), row);
}

void errno_name_rows(duckdb_function_info, duckdb_data_chunk input, duckdb_vector output) {
  duckdb_vector errors = duckdb_data_chunk_get_vector(input, 0);
  for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row)
    if (is_null(errors, row))
      set_null(output, row);
    else
      assign(output, row, schema::errno_name(number_at<std::int64_t>(errors, row)));
}

// A chunk has few different flags.
template <std::string (*kOfFlags)(std::string_view table, std::uint64_t flags)>
void flags_rows(duckdb_function_info, duckdb_data_chunk input, duckdb_vector output) {
  duckdb_vector tables = duckdb_data_chunk_get_vector(input, 0);
  duckdb_vector flags = duckdb_data_chunk_get_vector(input, 1);
  std::string table;
  std::unordered_map<std::uint64_t, std::string> texts; // of the table
  for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row) {
    if (is_null(tables, row) || is_null(flags, row)) {
      set_null(output, row);
      continue;
    }
    const std::string_view table_of_row = text_at(tables, row);
    if (table_of_row != table) {
      table = table_of_row;
      texts.clear();
    }
    const auto [found, is_new] = texts.try_emplace(number_at<std::uint64_t>(flags, row));
    if (is_new)
      found->second = kOfFlags(table, found->first);
    assign(output, row, found->second);
  }
}

void op_text_rows(duckdb_function_info, duckdb_data_chunk input, duckdb_vector output) {
  duckdb_vector ops = duckdb_data_chunk_get_vector(input, 0);
  for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row)
    if (is_null(ops, row))
      set_null(output, row);
    else
      assign(output, row, schema::op_text(number_at<std::uint64_t>(ops, row)));
}

// A regular expression takes ten times as long, and a trace has a path for each call.
void folded_path_rows(duckdb_function_info, duckdb_data_chunk input, duckdb_vector output) {
  duckdb_vector paths = duckdb_data_chunk_get_vector(input, 0);
  std::string folded;
  for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row) {
    if (is_null(paths, row)) {
      set_null(output, row);
      continue;
    }
    folded.clear();
    bool is_in_number = false;
    for (const char c : text_at(paths, row)) {
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit || !is_in_number)
        folded += is_digit ? '*' : c;
      is_in_number = is_digit;
    }
    assign(output, row, folded);
  }
}

template <std::string_view (*kOfStack)(std::string_view stack)>
void stack_rows(duckdb_function_info, duckdb_data_chunk input, duckdb_vector output) {
  duckdb_vector stacks = duckdb_data_chunk_get_vector(input, 0);
  for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row)
    if (is_null(stacks, row))
      set_null(output, row);
    else
      assign(output, row, std::string(kOfStack(text_at(stacks, row))));
}

Result<void> register_function(duckdb_connection connection, const char* name,
                               std::initializer_list<duckdb_type> parameters,
                               duckdb_scalar_function_t rows) {
  duckdb_scalar_function function = duckdb_create_scalar_function();
  duckdb_scalar_function_set_name(function, name);
  for (const duckdb_type parameter : parameters) {
    duckdb_logical_type type = duckdb_create_logical_type(parameter);
    duckdb_scalar_function_add_parameter(function, type);
    duckdb_destroy_logical_type(&type);
  }
  duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
  duckdb_scalar_function_set_return_type(function, text);
  duckdb_destroy_logical_type(&text);
  duckdb_scalar_function_set_function(function, rows);
  const duckdb_state state = duckdb_register_scalar_function(connection, function);
  duckdb_destroy_scalar_function(&function);
  if (state != DuckDBSuccess)
    return fail(std::string("function ") + name, "the SQL engine refuses it");
  return {};
}

} // namespace

Result<void> register_functions(duckdb_connection connection) {
  auto registered =
      register_function(connection, "errno_name", {DUCKDB_TYPE_BIGINT}, errno_name_rows);
  if (registered)
    registered = register_function(connection, "op_text", {DUCKDB_TYPE_UBIGINT}, op_text_rows);
  if (registered)
    registered =
        register_function(connection, "flags_text", {DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_UBIGINT},
                          flags_rows<schema::flags_text>);
  if (registered)
    registered =
        register_function(connection, "choice_text", {DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_UBIGINT},
                          flags_rows<schema::choice_text>);
  if (registered)
    registered =
        register_function(connection, "folded_path", {DUCKDB_TYPE_VARCHAR}, folded_path_rows);
  if (registered)
    registered = register_function(connection, "wait_reason", {DUCKDB_TYPE_VARCHAR},
                                   stack_rows<schema::wait_reason>);
  if (registered)
    registered = register_function(connection, "wait_place", {DUCKDB_TYPE_VARCHAR},
                                   stack_rows<schema::wait_place>);
  if (registered)
    registered = register_union_length(connection);
  if (registered)
    registered = register_busiest_share(connection);
  if (registered)
    registered = register_overlap_times(connection);
  if (registered)
    registered = register_peak_length(connection);
  if (registered)
    registered = register_span_lists(connection);
  return registered;
}

} // namespace iotrail::analysis
