// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/functions/span_lists.hpp"

#include <array>
#include <new>
#include <string>

#include "analysis/functions/intervals.hpp"

namespace iotrail::analysis {

namespace {

void take_gaps(Intervals& intervals) {
  for (std::size_t i = 1; i < intervals.size(); ++i)
    intervals[i - 1] = {intervals[i - 1].until, intervals[i].from};
  if (!intervals.empty())
    intervals.pop_back();
}

// Appends to the list's child.
duckdb_list_entry append(duckdb_vector result, const Intervals& spans) {
  const idx_t begin = duckdb_list_vector_get_size(result);
  const idx_t end = begin + spans.size();
  if (duckdb_list_vector_reserve(result, end) != DuckDBSuccess ||
      duckdb_list_vector_set_size(result, end) != DuckDBSuccess)
    throw std::bad_alloc();
  duckdb_vector child = duckdb_list_vector_get_child(result);
  const auto numbers = [&](idx_t member) {
    return static_cast<std::uint64_t*>(
        duckdb_vector_get_data(duckdb_struct_vector_get_child(child, member)));
  };
  std::uint64_t* from = numbers(0);
  std::uint64_t* until = numbers(1);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    from[begin + i] = spans[i].from;
    until[begin + i] = spans[i].until;
  }
  return {begin, spans.size()};
}

// Exceptions must not pass through the engine's C interface.
template <bool kGaps>
void store_spans(duckdb_function_info info, duckdb_aggregate_state* states, duckdb_vector result,
                 idx_t count, idx_t offset) {
  try {
    for (idx_t at = 0; at < count; ++at) {
      Intervals none;
      Intervals* known = intervals_of(states[at]);
      Intervals& spans = known == nullptr ? none : *known;
      merge(spans);
      if (kGaps)
        take_gaps(spans);
      const duckdb_list_entry entry = append(result, spans);
      static_cast<duckdb_list_entry*>(duckdb_vector_get_data(result))[offset + at] = entry;
    }
  } catch (const std::bad_alloc&) {
    duckdb_aggregate_function_set_error(info, "there is not enough memory for the spans");
  }
}

Result<void> register_list(duckdb_connection connection, const char* name,
                           duckdb_aggregate_update_t update, duckdb_aggregate_finalize_t finalize) {
  duckdb_aggregate_function function = duckdb_create_aggregate_function();
  duckdb_aggregate_function_set_name(function, name);
  duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_UBIGINT);
  std::array<duckdb_logical_type, 2> members = {number, number};
  std::array<const char*, 2> names = {"from_ns", "until_ns"};
  for (duckdb_logical_type member : members)
    duckdb_aggregate_function_add_parameter(function, member);
  duckdb_logical_type row = duckdb_create_struct_type(members.data(), names.data(), members.size());
  duckdb_logical_type list = duckdb_create_list_type(row);
  duckdb_aggregate_function_set_return_type(function, list);
  for (duckdb_logical_type* type : {&number, &row, &list})
    duckdb_destroy_logical_type(type);
  duckdb_aggregate_function_set_functions(function, intervals_state_size, init_intervals, update,
                                          combine_intervals, finalize);
  duckdb_aggregate_function_set_destructor(function, destroy_intervals);
  const duckdb_state state = duckdb_register_aggregate_function(connection, function);
  duckdb_destroy_aggregate_function(&function);
  if (state != DuckDBSuccess)
    return fail(std::string("function ") + name, "the SQL engine refuses it");
  return {};
}

} // namespace

Result<void> register_span_lists(duckdb_connection connection) {
  auto registered = register_list(connection, "merged_spans", add_intervals, store_spans<false>);
  if (registered)
    registered =
        register_list(connection, "span_gaps", add_intervals_and_points, store_spans<true>);
  return registered;
}

} // namespace iotrail::analysis
