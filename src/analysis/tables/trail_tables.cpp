// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/trail_tables.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/functions/vectors.hpp"
#include "analysis/tables/trail_columns.hpp"
#include "trail/trails.hpp"

namespace iotrail::analysis {

namespace {

template <class Row> struct Table;
template <> struct Table<Link> {
  static constexpr const char* kName = "found_links";
  static constexpr std::span<const MemoryColumn<Link>> kColumns = kLinkColumns;
  static std::span<const Link> rows(TrailTables& tables) { return tables.trails().links; }
};
template <> struct Table<Fate> {
  static constexpr const char* kName = "found_fates";
  static constexpr std::span<const MemoryColumn<Fate>> kColumns = kFateColumns;
  static std::span<const Fate> rows(TrailTables& tables) { return tables.trails().fates; }
};

template <> struct Table<LateRead> {
  static constexpr const char* kName = "found_late_reads";
  static constexpr std::span<const MemoryColumn<LateRead>> kColumns = kLateReadColumns;
  static std::span<const LateRead> rows(TrailTables& tables) { return tables.trails().late_reads; }
};
template <> struct Table<FilePath> {
  static constexpr const char* kName = "found_file_paths";
  static constexpr std::span<const MemoryColumn<FilePath>> kColumns = kFilePathColumns;
  static std::span<const FilePath> rows(TrailTables& tables) { return tables.names().paths; }
};
template <> struct Table<DamageLoss> {
  static constexpr const char* kName = "found_damage";
  static constexpr std::span<const MemoryColumn<DamageLoss>> kColumns = kDamageColumns;
  static std::span<const DamageLoss> rows(TrailTables& tables) { return tables.damage(); }
};
template <> struct Table<AppCall> {
  static constexpr const char* kName = "found_app_calls";
  static constexpr std::span<const MemoryColumn<AppCall>> kColumns = kAppCallColumns;
  static std::span<const AppCall> rows(TrailTables& tables) { return tables.app_calls().calls; }
};
template <> struct Table<CallPart> {
  static constexpr const char* kName = "found_call_parts";
  static constexpr std::span<const MemoryColumn<CallPart>> kColumns = kCallPartColumns;
  static std::span<const CallPart> rows(TrailTables& tables) { return tables.call_parts(); }
};
template <> struct Table<CurrentDirectory> {
  static constexpr const char* kName = "found_directories";
  static constexpr std::span<const MemoryColumn<CurrentDirectory>> kColumns = kDirectoryColumns;
  static std::span<const CurrentDirectory> rows(TrailTables& tables) {
    return tables.names().directories;
  }
};

void fill_null(duckdb_vector vector, idx_t row) {
  duckdb_vector_ensure_validity_writable(vector);
  duckdb_validity_set_row_invalid(duckdb_vector_get_validity(vector), row);
}

std::string_view shown_path_of(const FilePath& path) {
  return path.shown_path;
}
std::string_view path_of(const FilePath& path) {
  return path.path();
}

// A join would scan all paths for each event of a file with many paths, or sort all events.
template <std::string_view (*text)(const FilePath&)>
void path_rows(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
  try {
    auto& tables = *static_cast<TrailTables*>(duckdb_scalar_function_get_extra_info(info));
    duckdb_vector files = duckdb_data_chunk_get_vector(input, 0);
    duckdb_vector times = duckdb_data_chunk_get_vector(input, 1);
    for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row) {
      const FilePath* path =
          is_null(files, row) || is_null(times, row)
              ? nullptr
              : path_at(tables.names().paths, number_at<std::uint32_t>(files, row),
                        number_at<std::uint64_t>(times, row));
      if (path)
        assign_text(output, row, text(*path));
      else
        fill_null(output, row);
    }
  } catch (const std::bad_alloc&) {
    duckdb_scalar_function_set_error(
        info, "Out of Memory: there is not enough for the paths of this trace");
  }
}

template <class Row> struct MemoryScan {
  std::span<const Row> rows;
  std::vector<std::size_t> columns; // in the order of the output vectors
  std::atomic<std::size_t> next_row{0};
};

template <class Row> void bind_memory(duckdb_bind_info info) {
  for (const MemoryColumn<Row>& column : Table<Row>::kColumns) {
    duckdb_logical_type type = duckdb_create_logical_type(column.type);
    duckdb_bind_add_result_column(info, column.name, type);
    duckdb_destroy_logical_type(&type);
  }
}

// Exceptions must not pass through the engine's C interface.
template <class Row> void init_memory(duckdb_init_info info) {
  try {
    auto& tables = *static_cast<TrailTables*>(duckdb_init_get_extra_info(info));
    auto scan = std::make_unique<MemoryScan<Row>>();
    scan->rows = Table<Row>::rows(tables);
    for (idx_t i = 0; i < duckdb_init_get_column_count(info); ++i)
      scan->columns.push_back(duckdb_init_get_column_index(info, i));
    duckdb_init_set_init_data(info, scan.release(),
                              [](void* object) { delete static_cast<MemoryScan<Row>*>(object); });
  } catch (const std::bad_alloc&) {
    duckdb_init_set_error(info, "Out of Memory: there is not enough for the trails of this trace");
  }
}

template <class T> void fill(duckdb_vector vector, idx_t row, std::uint64_t number) {
  if (number != kNull) {
    static_cast<T*>(duckdb_vector_get_data(vector))[row] = static_cast<T>(number);
    return;
  }
  fill_null(vector, row);
}

template <class Row>
void fill_value(duckdb_vector vector, idx_t row, const MemoryColumn<Row>& column, const Row& from) {
  switch (column.type) {
  case DUCKDB_TYPE_VARCHAR: {
    const std::string_view text = column.text(from);
    if (text.empty())
      return fill_null(vector, row);
    return assign_text(vector, row, text);
  }
  case DUCKDB_TYPE_UINTEGER:
    return fill<std::uint32_t>(vector, row, column.number(from));
  case DUCKDB_TYPE_INTEGER:
    return fill<std::int32_t>(vector, row, column.number(from));
  default:
    return fill<std::uint64_t>(vector, row, column.number(from));
  }
}

template <class Row> void scan_memory(duckdb_function_info info, duckdb_data_chunk output) {
  auto& scan = *static_cast<MemoryScan<Row>*>(duckdb_function_get_init_data(info));
  const std::size_t first =
      std::min(scan.next_row.fetch_add(duckdb_vector_size()), scan.rows.size());
  const std::span<const Row> rows = scan.rows.subspan(
      first, std::min<std::size_t>(duckdb_vector_size(), scan.rows.size() - first));
  for (std::size_t i = 0; i < scan.columns.size(); ++i) {
    if (scan.columns[i] >= Table<Row>::kColumns.size())
      continue; // count(*) may ask for a column number that does not exist
    duckdb_vector vector = duckdb_data_chunk_get_vector(output, i);
    for (std::size_t row = 0; row < rows.size(); ++row)
      fill_value(vector, row, Table<Row>::kColumns[scan.columns[i]], rows[row]);
  }
  duckdb_data_chunk_set_size(output, rows.size());
}

template <class Row>
Result<void> register_memory(duckdb_connection connection, TrailTables* tables) {
  duckdb_table_function function = duckdb_create_table_function();
  duckdb_table_function_set_name(function, Table<Row>::kName);
  duckdb_table_function_set_extra_info(function, tables, nullptr);
  duckdb_table_function_set_bind(function, bind_memory<Row>);
  duckdb_table_function_set_init(function, init_memory<Row>);
  duckdb_table_function_set_function(function, scan_memory<Row>);
  duckdb_table_function_supports_projection_pushdown(function, true);
  const duckdb_state state = duckdb_register_table_function(connection, function);
  duckdb_destroy_table_function(&function);
  if (state != DuckDBSuccess)
    return fail(Table<Row>::kName, "the SQL engine refuses it as a table function");
  return {};
}

Result<void> register_path(duckdb_connection connection, TrailTables* tables, const char* name,
                           duckdb_scalar_function_t rows) {
  duckdb_scalar_function function = duckdb_create_scalar_function();
  duckdb_scalar_function_set_name(function, name);
  for (const duckdb_type of : {DUCKDB_TYPE_UINTEGER, DUCKDB_TYPE_UBIGINT, DUCKDB_TYPE_VARCHAR}) {
    duckdb_logical_type type = duckdb_create_logical_type(of);
    if (of == DUCKDB_TYPE_VARCHAR)
      duckdb_scalar_function_set_return_type(function, type);
    else
      duckdb_scalar_function_add_parameter(function, type);
    duckdb_destroy_logical_type(&type);
  }
  duckdb_scalar_function_set_extra_info(function, tables, nullptr);
  duckdb_scalar_function_set_function(function, rows);
  const duckdb_state state = duckdb_register_scalar_function(connection, function);
  duckdb_destroy_scalar_function(&function);
  if (state != DuckDBSuccess)
    return fail(name, "the SQL engine refuses it as a function");
  return {};
}

} // namespace

Result<void> TrailTables::register_in(duckdb_connection connection) {
  if (auto done = register_memory<Link>(connection, this); !done)
    return done;
  if (auto done = register_memory<LateRead>(connection, this); !done)
    return done;
  if (auto done = register_memory<FilePath>(connection, this); !done)
    return done;
  if (auto done = register_memory<CurrentDirectory>(connection, this); !done)
    return done;
  if (auto done = register_memory<AppCall>(connection, this); !done)
    return done;
  if (auto done = register_memory<CallPart>(connection, this); !done)
    return done;
  if (auto done = register_memory<DamageLoss>(connection, this); !done)
    return done;
  if (auto done = register_path(connection, this, "shown_path_at", path_rows<shown_path_of>); !done)
    return done;
  if (auto done = register_path(connection, this, "path_at", path_rows<path_of>); !done)
    return done;
  return register_memory<Fate>(connection, this);
}

const trail::Trails& TrailTables::trails() {
  std::call_once(found_, [&] { trails_ = trail::find_trails(reader_); });
  return trails_;
}

const TraceNames& TrailTables::names() {
  std::call_once(named_, [&] { names_ = find_names(reader_); });
  return names_;
}

const AppCalls& TrailTables::app_calls() {
  std::call_once(placed_, [&] { app_calls_ = find_app_calls(reader_); });
  return app_calls_;
}

const std::vector<CallPart>& TrailTables::call_parts() {
  std::call_once(divided_, [&] { call_parts_ = find_call_parts(reader_, trails().links); });
  return call_parts_;
}

const std::vector<DamageLoss>& TrailTables::damage() {
  std::call_once(checked_, [&] {
    reader_.check_all();
    const store::Damage damage = reader_.damage();
    if (!damage.any_skipped())
      return;
    const store::Manifest& manifest = reader_.manifest();
    damage_.push_back({.from_ns = manifest.begin_ns,
                       .to_ns = std::max(manifest.begin_ns, manifest.end_ns),
                       .events = std::max<std::uint64_t>(damage.rows_skipped, 1)});
  });
  return damage_;
}

} // namespace iotrail::analysis
