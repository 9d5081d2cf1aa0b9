// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/trail_tables.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analysis/functions/vectors.hpp"
#include "schema.hpp"
#include "trail/trails.hpp"

namespace iotrail::analysis {

namespace {

constexpr std::uint64_t kNull = UINT64_MAX;

// A column of rows in memory: a number or kNull, or a text that may be empty.
template <class Row> struct MemoryColumn {
  const char* name;
  duckdb_type type;
  std::uint64_t (*number)(const Row&) = nullptr;
  std::string_view (*text)(const Row&) = nullptr;
};

std::uint64_t known(std::uint64_t number) {
  return number == 0 ? kNull : number;
}

// An operation that this version does not know is a number, as in the tables of events.
std::string_view operation_name(const trail::Link& link) {
  static const auto names = [] {
    std::array<std::string, UINT8_MAX + 1> made;
    for (std::uint32_t number = 0; number < made.size(); ++number) {
      const std::string_view name = schema::value_name("block", number);
      made[number] = name.empty() ? fmt::format("{}", number) : name;
    }
    return made;
  }();
  return names[link.operation];
}

// NULL: not write-back of a file's pages.
std::string_view reason_name(const trail::Link& link) {
  return schema::value_name("writeback_reason", link.reason);
}

using trail::Fate;
using trail::LateRead;
using trail::Link;

constexpr MemoryColumn<Link> kLinkColumns[] = {
    {"cause", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const Link& l) { return trail::cause_name(l.cause); }},
    {"is_remainder", DUCKDB_TYPE_UBIGINT,
     [](const Link& l) { return std::uint64_t{trail::is_remainder(l.cause)}; }},
    {"is_repeat", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return std::uint64_t{l.is_repeat}; }},
    {"confidence", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const Link& l) { return trail::confidence_name(l.confidence); }},
    {"op_id", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.op_id; }},
    {"pid", DUCKDB_TYPE_UINTEGER, [](const Link& l) { return std::uint64_t{l.pid}; }},
    {"by_op", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.by_op; }},
    {"by_pid", DUCKDB_TYPE_UINTEGER, [](const Link& l) { return std::uint64_t{l.by_pid}; }},
    {"file", DUCKDB_TYPE_UINTEGER, [](const Link& l) { return std::uint64_t{l.file}; }},
    {"position", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.offset; }},
    {"bytes", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.bytes; }},
    {"plain_bytes", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return known(l.plain_bytes); }},
    {"used_bytes", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.used_bytes; }},
    {"late_bytes", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.late_bytes; }},
    {"late_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.late_ns; }},
    {"device", DUCKDB_TYPE_UINTEGER, [](const Link& l) { return std::uint64_t{l.device}; }},
    {"device_position", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.begin; }},
    {"direction", DUCKDB_TYPE_VARCHAR, nullptr, operation_name},
    {"set_off_by", DUCKDB_TYPE_VARCHAR, nullptr, reason_name},
    {"stored_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return known(l.stored_ns); }},
    {"ts_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.queued_ns; }},
    {"inserted_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return known(l.inserted_ns); }},
    {"issued_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return known(l.issued_ns); }},
    {"completed_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return known(l.completed_ns); }},
    {"error", DUCKDB_TYPE_INTEGER,
     [](const Link& l) { return std::uint64_t{static_cast<std::uint32_t>(l.error)}; }},
};

constexpr MemoryColumn<Fate> kFateColumns[] = {
    {"pid", DUCKDB_TYPE_UINTEGER, [](const Fate& f) { return std::uint64_t{f.pid}; }},
    {"file", DUCKDB_TYPE_UINTEGER, [](const Fate& f) { return std::uint64_t{f.file}; }},
    {"written", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.written; }},
    {"mapped", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.mapped; }},
    {"outside", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.outside; }},
    {"to_device", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.to_device; }},
    {"failed", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.failed; }},
    {"absorbed", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.absorbed; }},
    {"dropped", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.dropped; }},
    {"inlined", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.inlined; }},
    {"pending", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.pending; }},
};

constexpr MemoryColumn<LateRead> kLateReadColumns[] = {
    {"op_id", DUCKDB_TYPE_UBIGINT, [](const LateRead& r) { return r.op_id; }},
    {"by_op", DUCKDB_TYPE_UBIGINT, [](const LateRead& r) { return r.by_op; }},
    {"pid", DUCKDB_TYPE_UINTEGER, [](const LateRead& r) { return std::uint64_t{r.pid}; }},
    {"file", DUCKDB_TYPE_UINTEGER, [](const LateRead& r) { return std::uint64_t{r.file}; }},
    {"bytes", DUCKDB_TYPE_UBIGINT, [](const LateRead& r) { return r.bytes; }},
    {"late_ns", DUCKDB_TYPE_UBIGINT, [](const LateRead& r) { return r.late_ns; }},
};

constexpr MemoryColumn<FilePath> kFilePathColumns[] = {
    {"file", DUCKDB_TYPE_UINTEGER, [](const FilePath& p) { return std::uint64_t{p.file}; }},
    {"since_ns", DUCKDB_TYPE_UBIGINT, [](const FilePath& p) { return p.since_ns; }},
    {"until_ns", DUCKDB_TYPE_UBIGINT, [](const FilePath& p) { return p.until_ns; }}, // NULL: none
    {"path", DUCKDB_TYPE_VARCHAR, nullptr, [](const FilePath& p) { return p.path(); }},
    {"shown_path", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const FilePath& p) { return std::string_view(p.shown_path); }},
    {"is_removed", DUCKDB_TYPE_UBIGINT,
     [](const FilePath& p) { return std::uint64_t{p.is_removed}; }},
};

constexpr MemoryColumn<CurrentDirectory> kDirectoryColumns[] = {
    {"pid", DUCKDB_TYPE_UINTEGER, [](const CurrentDirectory& d) { return std::uint64_t{d.pid}; }},
    {"since_ns", DUCKDB_TYPE_UBIGINT, [](const CurrentDirectory& d) { return d.since_ns; }},
    {"directory", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const CurrentDirectory& d) { return std::string_view(d.path); }}, // NULL: unknown
    {"directory_file", DUCKDB_TYPE_UINTEGER,
     [](const CurrentDirectory& d) { return std::uint64_t{d.file}; }},
    {"is_inferred", DUCKDB_TYPE_UBIGINT,
     [](const CurrentDirectory& d) { return std::uint64_t{d.is_inferred}; }},
};

constexpr MemoryColumn<DamageLoss> kDamageColumns[] = {
    {"from_ns", DUCKDB_TYPE_UBIGINT, [](const DamageLoss& d) { return d.from_ns; }},
    {"to_ns", DUCKDB_TYPE_UBIGINT, [](const DamageLoss& d) { return d.to_ns; }},
    {"source", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const DamageLoss&) { return schema::value_name("source", IOT_source_store); }},
    {"counter", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const DamageLoss&) -> std::string_view {
       return schema::find_counter(IOT_COUNTER_store_block_damaged)->name;
     }},
    {"events", DUCKDB_TYPE_UBIGINT, [](const DamageLoss& d) { return d.events; }},
};

// NULL where no library call has the system call.
constexpr MemoryColumn<AppCall> kAppCallColumns[] = {
    {"syscall_op", DUCKDB_TYPE_UBIGINT, [](const AppCall& c) { return c.syscall_op; }},
    {"app_op", DUCKDB_TYPE_UBIGINT,
     [](const AppCall& c) { return c.kind->event.empty() ? kNull : c.app_op; }},
    {"app_event", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const AppCall& c) { return std::string_view(c.kind->event); }},
    {"app_call", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const AppCall& c) { return std::string_view(c.kind->call); }},
    {"place", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const AppCall& c) { return std::string_view(c.kind->place); }},
};

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
