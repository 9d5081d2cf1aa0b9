// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/functions/intervals.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "analysis/functions/vectors.hpp"

namespace iotrail::analysis {

namespace {

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

// Exceptions must not pass through the engine's C interface.
template <class Action> void guard(duckdb_function_info info, Action action) {
  try {
    action();
  } catch (const std::bad_alloc&) {
    duckdb_aggregate_function_set_error(info, "there is not enough memory for the intervals");
  }
}

} // namespace

Intervals*& intervals_of(duckdb_aggregate_state state) {
  return *reinterpret_cast<Intervals**>(state);
}

idx_t intervals_state_size(duckdb_function_info) {
  return sizeof(Intervals*);
}

void init_intervals(duckdb_function_info, duckdb_aggregate_state state) {
  intervals_of(state) = nullptr;
}

namespace {

template <class IsWanted>
void add_rows(duckdb_function_info info, duckdb_data_chunk input, duckdb_aggregate_state* states,
              IsWanted is_wanted) {
  duckdb_vector from = duckdb_data_chunk_get_vector(input, 0);
  duckdb_vector until = duckdb_data_chunk_get_vector(input, 1);
  guard(info, [&] {
    for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row) {
      if (is_null(from, row) || is_null(until, row))
        continue;
      const Interval interval = {number_at<std::uint64_t>(from, row),
                                 number_at<std::uint64_t>(until, row)};
      if (is_wanted(interval))
        add(intervals_of(states[row]), interval);
    }
  });
}

} // namespace

void add_intervals(duckdb_function_info info, duckdb_data_chunk input,
                   duckdb_aggregate_state* states) {
  add_rows(info, input, states, [](const Interval& each) { return each.from < each.until; });
}

void add_intervals_and_points(duckdb_function_info info, duckdb_data_chunk input,
                              duckdb_aggregate_state* states) {
  add_rows(info, input, states, [](const Interval& each) { return each.from <= each.until; });
}

void combine_intervals(duckdb_function_info info, duckdb_aggregate_state* sources,
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

void destroy_intervals(duckdb_aggregate_state* states, idx_t count) {
  for (idx_t at = 0; at < count; ++at)
    delete std::exchange(intervals_of(states[at]), nullptr);
}

void merge(Intervals& intervals) {
  if (!std::ranges::is_sorted(intervals, {}, &Interval::from))
    std::ranges::sort(intervals, {}, &Interval::from);
  std::size_t kept = 0;
  for (const Interval& interval : intervals)
    if (kept > 0 && interval.from <= intervals[kept - 1].until)
      intervals[kept - 1].until = std::max(intervals[kept - 1].until, interval.until);
    else
      intervals[kept++] = interval;
  intervals.resize(kept);
}

} // namespace iotrail::analysis
