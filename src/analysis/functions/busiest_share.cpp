// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/functions/busiest_share.hpp"

#include <algorithm>
#include <new>

#include "analysis/functions/intervals.hpp"
#include "analysis/functions/vectors.hpp"
#include "base/capped_sum.hpp"

namespace iotrail::analysis {

namespace {

struct BusyState {
  Intervals* intervals;
  std::uint64_t window_ns;
};

BusyState& busy_state_of(duckdb_aggregate_state state) {
  return *reinterpret_cast<BusyState*>(state);
}

idx_t busy_state_size(duckdb_function_info) {
  return sizeof(BusyState);
}

void init_busy(duckdb_function_info, duckdb_aggregate_state state) {
  busy_state_of(state) = {};
}

void update_busy(duckdb_function_info info, duckdb_data_chunk input,
                 duckdb_aggregate_state* states) {
  duckdb_vector windows = duckdb_data_chunk_get_vector(input, 2);
  for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row)
    if (!is_null(windows, row))
      busy_state_of(states[row]).window_ns = number_at<std::uint64_t>(windows, row);
  add_intervals(info, input, states);
}

void combine_busy(duckdb_function_info info, duckdb_aggregate_state* sources,
                  duckdb_aggregate_state* targets, idx_t count) {
  for (idx_t at = 0; at < count; ++at)
    busy_state_of(targets[at]).window_ns =
        std::max(busy_state_of(targets[at]).window_ns, busy_state_of(sources[at]).window_ns);
  combine_intervals(info, sources, targets, count);
}

// The busiest window begins where an interval begins: moving any other window on to the next begin
// of an interval, or back, never loses covered time.
double busiest_share(Intervals& intervals, std::uint64_t window_ns) {
  merge(intervals);
  std::uint64_t most_ns = 0;
  std::uint64_t covered_ns = 0; // by the intervals from `first` to before `last`, whole
  std::size_t last = 0;
  for (std::size_t first = 0; first < intervals.size(); ++first) {
    const std::uint64_t begin_ns = intervals[first].from;
    const std::uint64_t end_ns = capped_sum(begin_ns, window_ns);
    for (; last < intervals.size() && intervals[last].from < end_ns; ++last)
      covered_ns += intervals[last].until - intervals[last].from;
    const std::uint64_t beyond_ns =
        intervals[last - 1].until > end_ns ? intervals[last - 1].until - end_ns : 0;
    most_ns = std::max(most_ns, covered_ns - beyond_ns);
    covered_ns -= intervals[first].until - begin_ns;
  }
  return static_cast<double>(most_ns) / static_cast<double>(window_ns);
}

void store_shares(duckdb_function_info, duckdb_aggregate_state* states, duckdb_vector result,
                  idx_t count, idx_t offset) {
  auto* shares = static_cast<double*>(duckdb_vector_get_data(result));
  for (idx_t at = 0; at < count; ++at) {
    const BusyState& state = busy_state_of(states[at]);
    const bool is_empty = state.intervals == nullptr || state.window_ns == 0;
    shares[offset + at] = is_empty ? 0 : busiest_share(*state.intervals, state.window_ns);
  }
}

} // namespace

Result<void> register_busiest_share(duckdb_connection connection) {
  static_assert(offsetof(BusyState, intervals) == 0); // as intervals_of() expects
  duckdb_aggregate_function function = duckdb_create_aggregate_function();
  duckdb_aggregate_function_set_name(function, "busiest_share");
  duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_UBIGINT);
  for (int parameter = 0; parameter < 3; ++parameter)
    duckdb_aggregate_function_add_parameter(function, number);
  duckdb_destroy_logical_type(&number);
  duckdb_logical_type share = duckdb_create_logical_type(DUCKDB_TYPE_DOUBLE);
  duckdb_aggregate_function_set_return_type(function, share);
  duckdb_destroy_logical_type(&share);
  duckdb_aggregate_function_set_functions(function, busy_state_size, init_busy, update_busy,
                                          combine_busy, store_shares);
  duckdb_aggregate_function_set_destructor(function, destroy_intervals);
  const duckdb_state state = duckdb_register_aggregate_function(connection, function);
  duckdb_destroy_aggregate_function(&function);
  if (state != DuckDBSuccess)
    return fail("function busiest_share", "the SQL engine refuses it");
  return {};
}

} // namespace iotrail::analysis
