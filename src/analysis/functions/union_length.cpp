// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/functions/union_length.hpp"

#include "analysis/functions/intervals.hpp"

namespace iotrail::analysis {

namespace {

std::uint64_t union_length(Intervals& intervals) {
  merge(intervals);
  std::uint64_t length = 0;
  for (const Interval& interval : intervals)
    length += interval.until - interval.from;
  return length;
}

void store_lengths(duckdb_function_info, duckdb_aggregate_state* states, duckdb_vector result,
                   idx_t count, idx_t offset) {
  auto* lengths = static_cast<std::uint64_t*>(duckdb_vector_get_data(result));
  for (idx_t at = 0; at < count; ++at) {
    Intervals* intervals = intervals_of(states[at]);
    lengths[offset + at] = intervals == nullptr ? 0 : union_length(*intervals);
  }
}

} // namespace

Result<void> register_union_length(duckdb_connection connection) {
  duckdb_aggregate_function function = duckdb_create_aggregate_function();
  duckdb_aggregate_function_set_name(function, "union_length");
  duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_UBIGINT);
  duckdb_aggregate_function_add_parameter(function, number);
  duckdb_aggregate_function_add_parameter(function, number);
  duckdb_aggregate_function_set_return_type(function, number);
  duckdb_destroy_logical_type(&number);
  duckdb_aggregate_function_set_functions(function, intervals_state_size, init_intervals,
                                          add_intervals, combine_intervals, store_lengths);
  duckdb_aggregate_function_set_destructor(function, destroy_intervals);
  const duckdb_state state = duckdb_register_aggregate_function(connection, function);
  duckdb_destroy_aggregate_function(&function);
  if (state != DuckDBSuccess)
    return fail("function union_length", "the SQL engine refuses it");
  return {};
}

} // namespace iotrail::analysis
