// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/functions/overlap_times.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>
#include <vector>

#include "analysis/functions/overlaps.hpp"
#include "analysis/functions/vectors.hpp"

namespace iotrail::analysis {

namespace {

// Most groups have one piece or a few. The engine copies states as bytes, so further pieces lie
// elsewhere.
struct OverlapState {
  Piece first; // empty while there is none
  std::vector<Piece>* more;

  bool is_empty() const { return first.from >= first.until; }
};

OverlapState& overlap_of(duckdb_aggregate_state state) {
  return *reinterpret_cast<OverlapState*>(state);
}

void add_piece(OverlapState& state, const Piece& piece) {
  if (state.is_empty()) {
    state.first = piece;
    return;
  }
  if (state.more == nullptr)
    state.more = new std::vector<Piece>;
  state.more->push_back(piece);
}

void find_overlaps(const OverlapState& state, OverlapFinder& finder,
                   std::vector<Overlap>& overlaps) {
  overlaps.clear();
  if (state.is_empty())
    return;
  if (state.more == nullptr) {
    overlaps.push_back({state.first.what, state.first.until - state.first.from});
    return;
  }
  finder.add(state.first);
  for (const Piece& piece : *state.more)
    finder.add(piece);
  finder.find(overlaps);
}

// Exceptions must not pass through the engine's C interface.
template <class Action> void guard_overlaps(duckdb_function_info info, Action action) {
  try {
    action();
  } catch (const std::bad_alloc&) {
    duckdb_aggregate_function_set_error(info, "overlap_times: there is not enough memory");
  }
}

idx_t overlap_state_size(duckdb_function_info) {
  return sizeof(OverlapState);
}

void init_overlaps(duckdb_function_info, duckdb_aggregate_state state) {
  overlap_of(state) = {};
}

void update_overlaps(duckdb_function_info info, duckdb_data_chunk input,
                     duckdb_aggregate_state* states) {
  const std::array<duckdb_vector, 3> columns = {duckdb_data_chunk_get_vector(input, 0),
                                                duckdb_data_chunk_get_vector(input, 1),
                                                duckdb_data_chunk_get_vector(input, 2)};
  guard_overlaps(info, [&] {
    for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row) {
      if (std::ranges::any_of(columns, [&](duckdb_vector column) { return is_null(column, row); }))
        continue;
      const Piece piece = {number_at<std::uint64_t>(columns[0], row),
                           number_at<std::uint64_t>(columns[1], row),
                           number_at<std::uint64_t>(columns[2], row)};
      if (piece.from < piece.until)
        add_piece(overlap_of(states[row]), piece);
    }
  });
}

void combine_overlaps(duckdb_function_info info, duckdb_aggregate_state* sources,
                      duckdb_aggregate_state* targets, idx_t count) {
  guard_overlaps(info, [&] {
    for (idx_t at = 0; at < count; ++at) {
      const OverlapState& source = overlap_of(sources[at]);
      if (source.is_empty())
        continue;
      add_piece(overlap_of(targets[at]), source.first);
      if (source.more != nullptr)
        for (const Piece& piece : *source.more)
          add_piece(overlap_of(targets[at]), piece);
    }
  });
}

// Appends to the list's child.
duckdb_list_entry append(duckdb_vector result, const std::vector<Overlap>& overlaps) {
  const idx_t begin = duckdb_list_vector_get_size(result);
  const idx_t end = begin + overlaps.size();
  if (duckdb_list_vector_reserve(result, end) != DuckDBSuccess ||
      duckdb_list_vector_set_size(result, end) != DuckDBSuccess)
    throw std::bad_alloc();
  duckdb_vector child = duckdb_list_vector_get_child(result);
  auto* what =
      static_cast<std::uint64_t*>(duckdb_vector_get_data(duckdb_struct_vector_get_child(child, 0)));
  auto* ns =
      static_cast<std::uint64_t*>(duckdb_vector_get_data(duckdb_struct_vector_get_child(child, 1)));
  for (std::size_t i = 0; i < overlaps.size(); ++i) {
    what[begin + i] = overlaps[i].what;
    ns[begin + i] = overlaps[i].ns;
  }
  return {begin, overlaps.size()};
}

void finalize_overlaps(duckdb_function_info info, duckdb_aggregate_state* states,
                       duckdb_vector result, idx_t count, idx_t offset) {
  guard_overlaps(info, [&] {
    OverlapFinder finder;
    std::vector<Overlap> overlaps;
    for (idx_t at = 0; at < count; ++at) {
      find_overlaps(overlap_of(states[at]), finder, overlaps);
      const duckdb_list_entry entry = append(result, overlaps);
      static_cast<duckdb_list_entry*>(duckdb_vector_get_data(result))[offset + at] = entry;
    }
  });
}

void destroy_overlaps(duckdb_aggregate_state* states, idx_t count) {
  for (idx_t at = 0; at < count; ++at)
    delete std::exchange(overlap_of(states[at]).more, nullptr);
}

} // namespace

Result<void> register_overlap_times(duckdb_connection connection) {
  duckdb_aggregate_function function = duckdb_create_aggregate_function();
  duckdb_aggregate_function_set_name(function, "overlap_times");
  duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_UBIGINT);
  for (int i = 0; i < 3; ++i)
    duckdb_aggregate_function_add_parameter(function, number);
  std::array<duckdb_logical_type, 2> members = {number, number};
  std::array<const char*, 2> names = {"what", "ns"};
  duckdb_logical_type row = duckdb_create_struct_type(members.data(), names.data(), members.size());
  duckdb_logical_type list = duckdb_create_list_type(row);
  duckdb_aggregate_function_set_return_type(function, list);
  for (duckdb_logical_type* type : {&number, &row, &list})
    duckdb_destroy_logical_type(type);
  duckdb_aggregate_function_set_functions(function, overlap_state_size, init_overlaps,
                                          update_overlaps, combine_overlaps, finalize_overlaps);
  duckdb_aggregate_function_set_destructor(function, destroy_overlaps);
  const duckdb_state state = duckdb_register_aggregate_function(connection, function);
  duckdb_destroy_aggregate_function(&function);
  if (state != DuckDBSuccess)
    return fail("function overlap_times", "the SQL engine refuses it");
  return {};
}

} // namespace iotrail::analysis
