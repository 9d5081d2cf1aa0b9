// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/trace_table.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/functions/vectors.hpp"
#include "value_text.hpp"

namespace iotrail::analysis {

duckdb_type sql_type_of(const store::ColumnInfo& column) {
  switch (schema::type_in_sql(column.type, column.meaning)) {
  case schema::Type::u16:
    return DUCKDB_TYPE_USMALLINT;
  case schema::Type::u32:
    return DUCKDB_TYPE_UINTEGER;
  case schema::Type::u64:
    return DUCKDB_TYPE_UBIGINT;
  case schema::Type::s32:
    return DUCKDB_TYPE_INTEGER;
  case schema::Type::s64:
    return DUCKDB_TYPE_BIGINT;
  case schema::Type::text:
    return DUCKDB_TYPE_VARCHAR;
  }
  return DUCKDB_TYPE_UBIGINT;
}

namespace {

struct Source {
  const store::TraceReader* reader;
  const store::TableInfo* table;
  std::size_t stored_columns; // columns of the table that the trace has
};

// Input of one scan: bound once, then read-only.
struct Scan {
  Source source;
  std::vector<const store::BlockInfo*> blocks;
};

// State that all threads of one scan share.
struct Cursor {
  std::vector<int> columns; // of the table, in the order of the output vectors
  std::atomic<std::size_t> next_block{0};
};

// Names of small numbers, computed once per scan and thread instead of once per row.
class NameCache {
public:
  explicit NameCache(schema::Meaning meaning) : meaning_(meaning) {}

  const std::string& name(std::uint64_t number) {
    if (number >= kCached) {
      rare_ = schema::number_text(meaning_, number);
      return rare_;
    }
    if (number >= names_.size())
      names_.resize(number + 1);
    std::string& name = names_[number];
    if (name.empty())
      name = schema::number_text(meaning_, number);
    return name;
  }

private:
  static constexpr std::uint64_t kCached = 4096;
  schema::Meaning meaning_;
  std::vector<std::string> names_;
  std::string rare_;
};

// Position of one thread in the scan.
struct Position {
  std::vector<store::Column> columns; // of the block, by position in the table
  std::size_t rows = 0;
  std::size_t row = 0;
  std::vector<NameCache> names; // by output column
};

template <class T> void destroy(void* object) {
  delete static_cast<T*>(object);
}

std::optional<std::uint64_t> named_parameter(duckdb_bind_info info, const char* name) {
  duckdb_value value = duckdb_bind_get_named_parameter(info, name);
  if (!value)
    return std::nullopt;
  const std::uint64_t number = duckdb_get_uint64(value);
  duckdb_destroy_value(&value);
  return number;
}

void bind(duckdb_bind_info info) {
  const auto& source = *static_cast<const Source*>(duckdb_bind_get_extra_info(info));
  for (const store::ColumnInfo& column : source.table->columns) {
    duckdb_logical_type type = duckdb_create_logical_type(sql_type_of(column));
    duckdb_bind_add_result_column(info, std::string(schema::column_name(column.name)).c_str(),
                                  type);
    duckdb_destroy_logical_type(&type);
  }
  const std::uint64_t from_ns = named_parameter(info, "from_ns").value_or(0);
  const std::uint64_t to_ns = named_parameter(info, "to_ns").value_or(UINT64_MAX);
  auto scan = std::make_unique<Scan>(Scan{source, {}});
  std::uint64_t rows = 0;
  for (const store::BlockInfo& block : source.reader->blocks())
    if (block.kind == source.table->kind && block.last_ns >= from_ns && block.first_ns <= to_ns) {
      scan->blocks.push_back(&block);
      rows += block.rows;
    }
  duckdb_bind_set_cardinality(info, rows, true);
  duckdb_bind_set_bind_data(info, scan.release(), destroy<Scan>);
}

void init(duckdb_init_info info) {
  const auto& scan = *static_cast<const Scan*>(duckdb_init_get_bind_data(info));
  auto cursor = std::make_unique<Cursor>();
  for (idx_t i = 0; i < duckdb_init_get_column_count(info); ++i)
    cursor->columns.push_back(static_cast<int>(duckdb_init_get_column_index(info, i)));
  duckdb_init_set_max_threads(info, std::max<std::size_t>(1, scan.blocks.size()));
  duckdb_init_set_init_data(info, cursor.release(), destroy<Cursor>);
}

// A query without columns (count(*)) may ask for a column number that the table does not have.
bool is_column(const store::TableInfo& table, int column) {
  return column >= 0 && static_cast<std::size_t>(column) < table.columns.size();
}

void init_thread(duckdb_init_info info) {
  const auto& scan = *static_cast<const Scan*>(duckdb_init_get_bind_data(info));
  auto position = std::make_unique<Position>();
  for (idx_t i = 0; i < duckdb_init_get_column_count(info); ++i) {
    const auto column = static_cast<int>(duckdb_init_get_column_index(info, i));
    const bool exists = is_column(*scan.source.table, column);
    position->names.emplace_back(
        exists ? scan.source.table->columns[static_cast<std::size_t>(column)].meaning
               : schema::Meaning::number);
  }
  duckdb_init_set_init_data(info, position.release(), destroy<Position>);
}

// false: no block is left. Skips damaged blocks; the reader counts them (TraceReader::damage).
bool next_block(const Scan& scan, Cursor& cursor, Position& position) {
  std::vector<int> wanted;
  for (const int column : cursor.columns)
    if (column >= 0 && static_cast<std::size_t>(column) < scan.source.stored_columns)
      wanted.push_back(column);
  for (;;) {
    const std::size_t index = cursor.next_block.fetch_add(1, std::memory_order_relaxed);
    if (index >= scan.blocks.size())
      return false;
    const store::BlockInfo& block = *scan.blocks[index];
    auto columns = scan.source.reader->read(block, wanted);
    if (!columns || block.rows == 0)
      continue;
    position.columns = std::move(*columns);
    position.rows = block.rows;
    position.row = 0;
    return true;
  }
}

template <class T>
void copy_numbers(duckdb_vector vector, const std::uint64_t* from, std::size_t count) {
  T* to = static_cast<T*>(duckdb_vector_get_data(vector));
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<T>(from[i]);
}

void fill_numbers(duckdb_vector vector, const store::ColumnInfo& info, NameCache& names,
                  const std::uint64_t* from, std::size_t count) {
  switch (sql_type_of(info)) {
  case DUCKDB_TYPE_USMALLINT:
    return copy_numbers<std::uint16_t>(vector, from, count);
  case DUCKDB_TYPE_UINTEGER:
    return copy_numbers<std::uint32_t>(vector, from, count);
  case DUCKDB_TYPE_INTEGER:
    return copy_numbers<std::int32_t>(vector, from, count);
  case DUCKDB_TYPE_VARCHAR:
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& name = names.name(from[i]);
      duckdb_vector_assign_string_element_len(vector, i, name.data(), name.size());
    }
    return;
  default: // 64 bits, signed or not: the same bytes
    return copy_numbers<std::uint64_t>(vector, from, count);
  }
}

void fill_texts(duckdb_vector vector, const std::string* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    assign_text(vector, i, from[i]);
}

// Numbers that stand for no value are NULL.
void drop_absent(duckdb_vector vector, const store::ColumnInfo& info, const std::uint64_t* from,
                 std::size_t count) {
  if (!schema::may_lack_value(info.meaning))
    return;
  std::uint64_t* validity = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (schema::has_value(info.meaning, info.type, from[i]))
      continue;
    if (!validity) {
      duckdb_vector_ensure_validity_writable(vector);
      validity = duckdb_vector_get_validity(vector);
    }
    duckdb_validity_set_row_invalid(validity, i);
  }
}

void fill_nulls(duckdb_vector vector, std::size_t count) {
  duckdb_vector_ensure_validity_writable(vector);
  std::uint64_t* validity = duckdb_vector_get_validity(vector);
  for (std::size_t i = 0; i < count; ++i)
    duckdb_validity_set_row_invalid(validity, i);
}

void scan_chunk(duckdb_function_info info, duckdb_data_chunk output) {
  const auto& scan = *static_cast<const Scan*>(duckdb_function_get_bind_data(info));
  auto& cursor = *static_cast<Cursor*>(duckdb_function_get_init_data(info));
  auto& position = *static_cast<Position*>(duckdb_function_get_local_init_data(info));
  if (position.row == position.rows && !next_block(scan, cursor, position)) {
    duckdb_data_chunk_set_size(output, 0);
    return;
  }
  const std::size_t count =
      std::min<std::size_t>(duckdb_vector_size(), position.rows - position.row);
  for (std::size_t i = 0; i < cursor.columns.size(); ++i) {
    if (!is_column(*scan.source.table, cursor.columns[i]))
      continue;
    const auto column = static_cast<std::size_t>(cursor.columns[i]);
    const store::ColumnInfo& column_info = scan.source.table->columns[column];
    duckdb_vector vector = duckdb_data_chunk_get_vector(output, i);
    static const store::Column kAbsent;
    const bool is_stored = column < scan.source.stored_columns;
    const store::Column& values = is_stored ? position.columns[column] : kAbsent;
    if (const auto* numbers = std::get_if<store::Numbers>(&values)) {
      fill_numbers(vector, column_info, position.names[i], numbers->data() + position.row, count);
      drop_absent(vector, column_info, numbers->data() + position.row, count);
    } else if (const auto* texts = std::get_if<store::Texts>(&values)) {
      fill_texts(vector, texts->data() + position.row, count);
    } else {
      fill_nulls(vector, count);
    }
  }
  position.row += count;
  duckdb_data_chunk_set_size(output, count);
}

} // namespace

Result<void> register_trace_table(duckdb_connection connection, const store::TraceReader& reader,
                                  const store::TableInfo& table) {
  const store::TableInfo* stored = reader.table(table.kind);
  const std::size_t stored_columns = stored ? stored->columns.size() : 0;
  duckdb_table_function function = duckdb_create_table_function();
  duckdb_table_function_set_name(function, table.name.c_str());
  duckdb_table_function_set_extra_info(function, new Source{&reader, &table, stored_columns},
                                       destroy<Source>);
  duckdb_logical_type time = duckdb_create_logical_type(DUCKDB_TYPE_UBIGINT);
  duckdb_table_function_add_named_parameter(function, "from_ns", time);
  duckdb_table_function_add_named_parameter(function, "to_ns", time);
  duckdb_destroy_logical_type(&time);
  duckdb_table_function_set_bind(function, bind);
  duckdb_table_function_set_init(function, init);
  duckdb_table_function_set_local_init(function, init_thread);
  duckdb_table_function_set_function(function, scan_chunk);
  duckdb_table_function_supports_projection_pushdown(function, true);
  const duckdb_state state = duckdb_register_table_function(connection, function);
  duckdb_destroy_table_function(&function);
  if (state != DuckDBSuccess)
    return fail("table " + table.name, "the SQL engine refuses it as a table function");
  return {};
}

} // namespace iotrail::analysis
