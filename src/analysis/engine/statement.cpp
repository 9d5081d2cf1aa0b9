// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/statement.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "analysis/engine/query_guard.hpp"
#include "analysis/engine/query_timer.hpp"
#include "analysis/engine/sql_text.hpp"

namespace iotrail::analysis {

namespace {

struct Extracted {
  duckdb_extracted_statements handle = nullptr;
  Extracted() = default;
  Extracted(const Extracted&) = delete;
  Extracted& operator=(const Extracted&) = delete;
  ~Extracted() { duckdb_destroy_extracted(&handle); }
};

// A column with its exact numbers: the engine writes integers of 128 bits as DOUBLE.
std::string stored_column(idx_t place, duckdb_type type) {
  const bool is_wide = type == DUCKDB_TYPE_HUGEINT || type == DUCKDB_TYPE_UHUGEINT;
  return is_wide ? fmt::format("CAST(#{} AS DECIMAL(38, 0))", place) : fmt::format("#{}", place);
}

// The column at that index; cast to text if its type is not a plain one.
std::string plain_column(idx_t place, duckdb_type type) {
  if (is_plain(type))
    return fmt::format("#{}", place);
  return is_nested(type) ? fmt::format("to_json(#{})", place)
                         : fmt::format("CAST(#{} AS VARCHAR)", place);
}

// Arrow has no exact integers of 128 bits, and loses the names, bits or zones of the others.
std::string arrow_column(idx_t place, duckdb_type type) {
  switch (type) {
  case DUCKDB_TYPE_ENUM:
  case DUCKDB_TYPE_UNION:
  case DUCKDB_TYPE_BIT:
  case DUCKDB_TYPE_BIGNUM:
  case DUCKDB_TYPE_TIME_TZ:
  case DUCKDB_TYPE_INVALID: // of C: a type that its interface does not name
    return fmt::format("CAST(#{} AS VARCHAR)", place);
  default:
    return stored_column(place, type);
  }
}

// The same statement in that form; "": as it is. Of two statements, the first made a type of the
// second: they cannot become one.
std::string in_form(Form form, duckdb_prepared_statement statement, std::string_view sql,
                    std::span<const duckdb_type> types) {
  if (form == Form::plain && !std::ranges::all_of(types, is_plain))
    return wrapped(statement, sql, plain_column);
  if (form == Form::arrow) // the outer statement numbers columns of the same name
    return fmt::format("FROM (\n{}\n)", wrapped(statement, sql, arrow_column));
  return {};
}

Result<void> run_to_end(duckdb_connection connection, duckdb_extracted_statements statements,
                        idx_t index) {
  Statement statement;
  if (duckdb_prepare_extracted_statement(connection, statements, index, &statement.handle) !=
      DuckDBSuccess)
    return query_failed(duckdb_prepare_error(statement.handle));
  duckdb_result result{};
  const duckdb_state state = duckdb_execute_prepared(statement.handle, &result);
  Result<void> done;
  if (state != DuckDBSuccess)
    done = query_failed(duckdb_result_error(&result));
  duckdb_destroy_result(&result);
  return done;
}

bool is_of_memory(std::string_view why) {
  return why.starts_with("Out of Memory Error") || why.contains("std::bad_alloc") ||
         why.contains("llocation fail");
}

} // namespace

Error engine_error(std::string what, const char* why) {
  Error error{std::move(what), why ? why : "no reason given", ""};
  error.has_lines = true;
  error.why.resize(std::min(error.why.find("\n\nStack Trace:"), error.why.size())); // of the engine
  std::ranges::replace(error.why, '\t', ' ');
  if (is_of_memory(error.why)) {
    error.code = ENOMEM;
    error.why.resize(std::min(error.why.find("\n\n"), error.why.size())); // advice about settings
    error.hint = std::string(kMemoryHint);
  }
  return error;
}

std::unexpected<Error> query_failed(const char* why) {
  Error error = engine_error(std::string(kQueryFailed), why);
  if (error.why.contains("disabled by configuration"))
    error.hint = std::string(kReadsAlone);
  return std::unexpected(std::move(error));
}

// Types that a cell can hold unchanged; the engine casts all others to text.
bool is_plain(duckdb_type type) {
  switch (type) {
  case DUCKDB_TYPE_BOOLEAN:
  case DUCKDB_TYPE_TINYINT:
  case DUCKDB_TYPE_SMALLINT:
  case DUCKDB_TYPE_INTEGER:
  case DUCKDB_TYPE_BIGINT:
  case DUCKDB_TYPE_UTINYINT:
  case DUCKDB_TYPE_USMALLINT:
  case DUCKDB_TYPE_UINTEGER:
  case DUCKDB_TYPE_UBIGINT:
  case DUCKDB_TYPE_HUGEINT:
  case DUCKDB_TYPE_FLOAT:
  case DUCKDB_TYPE_DOUBLE:
  case DUCKDB_TYPE_VARCHAR:
    return true;
  default:
    return false;
  }
}

bool is_nested(duckdb_type type) {
  return type == DUCKDB_TYPE_LIST || type == DUCKDB_TYPE_ARRAY || type == DUCKDB_TYPE_STRUCT ||
         type == DUCKDB_TYPE_MAP;
}

// `sql`, wrapped so that each column becomes what `column` makes of it.
std::string wrapped(duckdb_prepared_statement statement, std::string_view sql,
                    std::string (*column)(idx_t place, duckdb_type type)) {
  std::string columns;
  for (idx_t i = 0; i < duckdb_prepared_statement_column_count(statement); ++i) {
    const duckdb_type type = duckdb_prepared_statement_column_type(statement, i);
    const char* name = duckdb_prepared_statement_column_name(statement, i);
    columns +=
        fmt::format("{}{} AS {}", columns.empty() ? "" : ", ", column(i + 1, type), sql_name(name));
    duckdb_free(const_cast<char*>(name)); // the C API transfers ownership despite const
  }
  return fmt::format("SELECT {} FROM (\n{}\n)", columns, without_end(sql));
}

Result<std::vector<duckdb_type>> prepare_last(const Connection& of, const std::string& sql,
                                              Statement& statement, Form form) {
  duckdb_connection connection = of.handle;
  Extracted extracted;
  const idx_t count = duckdb_extract_statements(connection, sql.c_str(), &extracted.handle);
  if (count == 0) {
    const char* why = duckdb_extract_statements_error(extracted.handle);
    return query_failed(why ? why : "it is empty");
  }
  if (of.reads_only)
    if (auto checked = check_statements(sql, count); !checked)
      return std::unexpected(checked.error());
  for (idx_t i = 0; i + 1 < count; ++i)
    if (auto done = run_to_end(connection, extracted.handle, i); !done)
      return std::unexpected(done.error());
  if (duckdb_prepare_extracted_statement(connection, extracted.handle, count - 1,
                                         &statement.handle) != DuckDBSuccess)
    return query_failed(duckdb_prepare_error(statement.handle));
  if (of.reads_only)
    if (auto checked = check_prepared(connection, sql, count, statement.handle); !checked)
      return std::unexpected(checked.error());
  std::vector<duckdb_type> types;
  for (idx_t i = 0; i < duckdb_prepared_statement_column_count(statement.handle); ++i)
    types.push_back(duckdb_prepared_statement_column_type(statement.handle, i));
  const std::string formed =
      count == 1 ? in_form(form, statement.handle, sql, types) : std::string();
  if (!formed.empty()) {
    duckdb_destroy_prepare(&statement.handle);
    if (duckdb_prepare(connection, formed.c_str(), &statement.handle) != DuckDBSuccess)
      return query_failed(duckdb_prepare_error(statement.handle));
  }
  return types;
}

Result<std::uint64_t> write_parquet(const Connection& connection, std::string_view sql,
                                    const std::string& path) {
  std::optional<QueryTimer> timer;
  if (connection.time_limit_ns != 0)
    timer.emplace(connection.handle, connection.time_limit_ns, connection.on_overdue);
  Statement statement;
  const auto types = prepare_last(connection, std::string(sql), statement, Form::stored);
  if (!types)
    return std::unexpected(timer ? timer->explained(types.error()) : types.error());
  const std::string copy =
      fmt::format("COPY ({}) TO {} (FORMAT parquet, USE_TMP_FILE false)",
                  wrapped(statement.handle, sql, stored_column), sql_literal(path));
  duckdb_result result{};
  const duckdb_state state = duckdb_query(connection.handle, copy.c_str(), &result);
  Result<std::uint64_t> rows = duckdb_rows_changed(&result);
  if (state != DuckDBSuccess)
    rows = query_failed(duckdb_result_error(&result));
  duckdb_destroy_result(&result);
  if (!rows && timer)
    return std::unexpected(timer->explained(rows.error()));
  return rows;
}

} // namespace iotrail::analysis
