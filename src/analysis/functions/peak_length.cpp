// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/functions/peak_length.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/functions/vectors.hpp"

namespace iotrail::analysis {

namespace {

struct RangeChange {
  std::uint64_t at_ns;
  std::uint64_t from;
  std::uint64_t until;
  bool is_removed;

  auto order() const { return std::tuple(at_ns, is_removed, from, until); }
};

using RangeChanges = std::vector<RangeChange>;

// Ranges that neither overlap nor touch.
class LiveRanges {
public:
  void insert(std::uint64_t from, std::uint64_t until) {
    auto range = first_reaching(from);
    while (range != ranges_.end() && range->first <= until) {
      from = std::min(from, range->first);
      until = std::max(until, range->second);
      length_ -= range->second - range->first;
      range = ranges_.erase(range);
    }
    ranges_.emplace_hint(range, from, until);
    length_ += until - from;
  }

  void remove(std::uint64_t from, std::uint64_t until) {
    auto range = first_reaching(from);
    while (range != ranges_.end() && range->first < until) {
      const auto [begin, end] = *range;
      length_ -= end - begin;
      range = ranges_.erase(range);
      keep(begin, std::min(end, from));
      keep(std::max(begin, until), end);
    }
  }

  std::uint64_t length() const { return length_; }

private:
  // The first range that ends at `at` or behind it.
  std::map<std::uint64_t, std::uint64_t>::iterator first_reaching(std::uint64_t at) {
    auto range = ranges_.upper_bound(at);
    return range != ranges_.begin() && std::prev(range)->second >= at ? std::prev(range) : range;
  }

  void keep(std::uint64_t from, std::uint64_t until) {
    if (from >= until)
      return;
    ranges_.emplace(from, until);
    length_ += until - from;
  }

  std::map<std::uint64_t, std::uint64_t> ranges_; // end by begin
  std::uint64_t length_ = 0;
};

std::uint64_t peak_length(RangeChanges& changes) {
  std::ranges::sort(changes, {}, &RangeChange::order);
  LiveRanges live;
  std::uint64_t peak = 0;
  for (const RangeChange& change : changes) {
    if (change.is_removed)
      live.remove(change.from, change.until);
    else
      live.insert(change.from, change.until);
    peak = std::max(peak, live.length());
  }
  return peak;
}

RangeChanges*& changes_of(duckdb_aggregate_state state) {
  return *reinterpret_cast<RangeChanges**>(state);
}

// Exceptions must not pass through the engine's C interface.
template <class Action> void guard_changes(duckdb_function_info info, Action action) {
  try {
    action();
  } catch (const std::bad_alloc&) {
    duckdb_aggregate_function_set_error(info, "peak_length: there is not enough memory");
  }
}

idx_t changes_state_size(duckdb_function_info) {
  return sizeof(RangeChanges*);
}

void init_changes(duckdb_function_info, duckdb_aggregate_state state) {
  changes_of(state) = nullptr;
}

void update_changes(duckdb_function_info info, duckdb_data_chunk input,
                    duckdb_aggregate_state* states) {
  std::array<duckdb_vector, 4> columns{};
  for (std::size_t i = 0; i < columns.size(); ++i)
    columns[i] = duckdb_data_chunk_get_vector(input, i);
  guard_changes(info, [&] {
    for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row) {
      if (std::ranges::any_of(columns, [&](duckdb_vector column) { return is_null(column, row); }))
        continue;
      const RangeChange change = {
          number_at<std::uint64_t>(columns[0], row), number_at<std::uint64_t>(columns[1], row),
          number_at<std::uint64_t>(columns[2], row), number_at<bool>(columns[3], row)};
      if (change.from >= change.until)
        continue;
      RangeChanges*& changes = changes_of(states[row]);
      if (changes == nullptr)
        changes = new RangeChanges;
      changes->push_back(change);
    }
  });
}

void combine_changes(duckdb_function_info info, duckdb_aggregate_state* sources,
                     duckdb_aggregate_state* targets, idx_t count) {
  guard_changes(info, [&] {
    for (idx_t at = 0; at < count; ++at) {
      const RangeChanges* source = changes_of(sources[at]);
      if (source == nullptr)
        continue;
      RangeChanges*& target = changes_of(targets[at]);
      if (target == nullptr)
        target = new RangeChanges(*source);
      else
        target->insert(target->end(), source->begin(), source->end());
    }
  });
}

void finalize_changes(duckdb_function_info info, duckdb_aggregate_state* states,
                      duckdb_vector result, idx_t count, idx_t offset) {
  auto* peaks = static_cast<std::uint64_t*>(duckdb_vector_get_data(result));
  guard_changes(info, [&] {
    for (idx_t at = 0; at < count; ++at) {
      RangeChanges* changes = changes_of(states[at]);
      peaks[offset + at] = changes == nullptr ? 0 : peak_length(*changes);
    }
  });
}

void destroy_changes(duckdb_aggregate_state* states, idx_t count) {
  for (idx_t at = 0; at < count; ++at)
    delete std::exchange(changes_of(states[at]), nullptr);
}

} // namespace

Result<void> register_peak_length(duckdb_connection connection) {
  duckdb_aggregate_function function = duckdb_create_aggregate_function();
  duckdb_aggregate_function_set_name(function, "peak_length");
  duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_UBIGINT);
  duckdb_logical_type flag = duckdb_create_logical_type(DUCKDB_TYPE_BOOLEAN);
  for (duckdb_logical_type type : {number, number, number, flag})
    duckdb_aggregate_function_add_parameter(function, type);
  duckdb_aggregate_function_set_return_type(function, number);
  duckdb_destroy_logical_type(&number);
  duckdb_destroy_logical_type(&flag);
  duckdb_aggregate_function_set_functions(function, changes_state_size, init_changes,
                                          update_changes, combine_changes, finalize_changes);
  duckdb_aggregate_function_set_destructor(function, destroy_changes);
  const duckdb_state state = duckdb_register_aggregate_function(connection, function);
  duckdb_destroy_aggregate_function(&function);
  if (state != DuckDBSuccess)
    return fail("function peak_length", "the SQL engine refuses it");
  return {};
}

} // namespace iotrail::analysis
