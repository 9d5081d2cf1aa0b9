// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/functions/union_length.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "analysis/functions/vectors.hpp"

namespace iotrail::analysis {

namespace {

struct Interval {
  std::uint64_t from;
  std::uint64_t until;
};

using Intervals = std::vector<Interval>;

// The engine copies states as bytes, so the intervals lie elsewhere.
Intervals*& intervals_of(duckdb_aggregate_state state) {
  return *reinterpret_cast<Intervals**>(state);
}

void add(Intervals*& intervals, Interval added) {
  if (intervals == nullptr)
    intervals = new Intervals;
  // Consecutive spans that touch, the usual case in a trace, share one interval.
  if (!intervals->empty()) {
    Interval& last = intervals->back();
    if (added.from >= last.from && added.from <= last.until) {
      last.until = std::max(last.until, added.until);
      return;
    }
  }
  intervals->push_back(added);
}

std::uint64_t union_length(Intervals& intervals) {
  if (!std::ranges::is_sorted(intervals, {}, &Interval::from))
    std::ranges::sort(intervals, {}, &Interval::from);
  std::uint64_t length = 0;
  std::uint64_t covered = 0;
  for (const Interval& interval : intervals) {
    const std::uint64_t from = std::max(interval.from, covered);
    if (interval.until > from)
      length += interval.until - from;
    covered = std::max(covered, interval.until);
  }
  return length;
}

// Exceptions must not pass through the engine's C interface.
template <class Action> void guard(duckdb_function_info info, Action action) {
  try {
    action();
  } catch (const std::bad_alloc&) {
    duckdb_aggregate_function_set_error(info, "union_length: there is not enough memory");
  }
}

idx_t state_size(duckdb_function_info) {
  return sizeof(Intervals*);
}

void init(duckdb_function_info, duckdb_aggregate_state state) {
  intervals_of(state) = nullptr;
}

void update(duckdb_function_info info, duckdb_data_chunk input, duckdb_aggregate_state* states) {
  duckdb_vector from = duckdb_data_chunk_get_vector(input, 0);
  duckdb_vector until = duckdb_data_chunk_get_vector(input, 1);
  guard(info, [&] {
    for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row) {
      if (is_null(from, row) || is_null(until, row))
        continue;
      const Interval interval = {number_at<std::uint64_t>(from, row),
                                 number_at<std::uint64_t>(until, row)};
      if (interval.from < interval.until)
        add(intervals_of(states[row]), interval);
    }
  });
}

void combine(duckdb_function_info info, duckdb_aggregate_state* sources,
             duckdb_aggregate_state* targets, idx_t count) {
  guard(info, [&] {
    for (idx_t at = 0; at < count; ++at) {
      const Intervals* source = intervals_of(sources[at]);
      if (source == nullptr)
        continue;
      Intervals*& target = intervals_of(targets[at]);
      if (target == nullptr)
        target = new Intervals(*source);
      else
        target->insert(target->end(), source->begin(), source->end());
    }
  });
}

void finalize(duckdb_function_info, duckdb_aggregate_state* states, duckdb_vector result,
              idx_t count, idx_t offset) {
  auto* lengths = static_cast<std::uint64_t*>(duckdb_vector_get_data(result));
  for (idx_t at = 0; at < count; ++at) {
    Intervals* intervals = intervals_of(states[at]);
    lengths[offset + at] = intervals == nullptr ? 0 : union_length(*intervals);
  }
}

void destroy(duckdb_aggregate_state* states, idx_t count) {
  for (idx_t at = 0; at < count; ++at)
    delete std::exchange(intervals_of(states[at]), nullptr);
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
  duckdb_aggregate_function_set_functions(function, state_size, init, update, combine, finalize);
  duckdb_aggregate_function_set_destructor(function, destroy);
  const duckdb_state state = duckdb_register_aggregate_function(connection, function);
  duckdb_destroy_aggregate_function(&function);
  if (state != DuckDBSuccess)
    return fail("function union_length", "the SQL engine refuses it");
  return {};
}

} // namespace iotrail::analysis
