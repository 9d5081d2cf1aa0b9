// SPDX-License-Identifier: BSD-3-Clause
//
// Time intervals collected by the aggregates union_length, busiest_share, merged_spans and span_gaps. The SQL engine copies
// the state of an aggregate as bytes, so the state is a pointer: null until the first interval.
#pragma once

#include <duckdb.h>

#include <cstdint>
#include <vector>

namespace iotrail::analysis {

struct Interval {
  std::uint64_t from;
  std::uint64_t until; // after `from`
};

using Intervals = std::vector<Interval>;

Intervals*& intervals_of(duckdb_aggregate_state state);

// Functions of the state for duckdb_aggregate_function_set_functions(). add_intervals() takes the
// interval of each row from the first two columns; an interval with a NULL, or with an end not after
// its begin, adds nothing.
idx_t intervals_state_size(duckdb_function_info info);
void init_intervals(duckdb_function_info info, duckdb_aggregate_state state);
void add_intervals(duckdb_function_info info, duckdb_data_chunk input,
                   duckdb_aggregate_state* states);
// The same, and intervals without a length.
void add_intervals_and_points(duckdb_function_info info, duckdb_data_chunk input,
                              duckdb_aggregate_state* states);
void combine_intervals(duckdb_function_info info, duckdb_aggregate_state* sources,
                       duckdb_aggregate_state* targets, idx_t count);
void destroy_intervals(duckdb_aggregate_state* states, idx_t count);

// Sorts the intervals and joins those that overlap or touch.
void merge(Intervals& intervals);

} // namespace iotrail::analysis
