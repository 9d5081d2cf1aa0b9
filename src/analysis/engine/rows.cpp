// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "analysis/engine/sql_text.hpp"

namespace iotrail::analysis {

namespace {

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

Kind kind_of(duckdb_type type) {
  switch (type) {
  case DUCKDB_TYPE_BOOLEAN:
    return Kind::boolean;
  case DUCKDB_TYPE_VARCHAR:
    return Kind::text;
  default:
    return Kind::number;
  }
}

std::string digits_of(duckdb_hugeint value) {
  const bool negative = value.upper < 0;
  auto rest = (static_cast<unsigned __int128>(static_cast<std::uint64_t>(value.upper)) << 64U) |
              value.lower;
  if (negative)
    rest = -rest;
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (negative)
    digits += '-';
  std::ranges::reverse(digits);
  return digits;
}

struct Statement {
  duckdb_prepared_statement handle = nullptr;
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { duckdb_destroy_prepare(&handle); }
};

struct Extracted {
  duckdb_extracted_statements handle = nullptr;
  Extracted() = default;
  Extracted(const Extracted&) = delete;
  Extracted& operator=(const Extracted&) = delete;
  ~Extracted() { duckdb_destroy_extracted(&handle); }
};

std::unexpected<Error> query_failed(const char* why) {
  return std::unexpected(engine_error("the query failed", why));
}

bool is_nested(duckdb_type type) {
  return type == DUCKDB_TYPE_LIST || type == DUCKDB_TYPE_ARRAY || type == DUCKDB_TYPE_STRUCT ||
         type == DUCKDB_TYPE_MAP;
}

// Kind of a column with cells cast to text.
Kind kind_of_cast(duckdb_type type) {
  if (type == DUCKDB_TYPE_DECIMAL || type == DUCKDB_TYPE_UHUGEINT)
    return Kind::number;
  return is_nested(type) ? Kind::nested : Kind::text;
}

// The column at that index; cast to text if its type is not a plain one.
std::string plain_column(idx_t place, duckdb_type type) {
  if (is_plain(type))
    return fmt::format("#{}", place);
  return is_nested(type) ? fmt::format("to_json(#{})", place)
                         : fmt::format("CAST(#{} AS VARCHAR)", place);
}

std::string_view without_end(std::string_view sql) {
  while (!sql.empty() &&
         (sql.back() == ';' || std::isspace(static_cast<unsigned char>(sql.back()))))
    sql.remove_suffix(1);
  return sql;
}

// `sql`, wrapped so that columns of other than the plain types become text.
std::string as_plain(duckdb_prepared_statement statement, std::string_view sql) {
  std::string columns;
  for (idx_t i = 0; i < duckdb_prepared_statement_column_count(statement); ++i) {
    const duckdb_type type = duckdb_prepared_statement_column_type(statement, i);
    const char* name = duckdb_prepared_statement_column_name(statement, i);
    columns += fmt::format("{}{} AS {}", columns.empty() ? "" : ", ", plain_column(i + 1, type),
                           sql_name(name));
    duckdb_free(const_cast<char*>(name)); // the C API transfers ownership despite const
  }
  return fmt::format("SELECT {} FROM (\n{}\n)", columns, without_end(sql));
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

// Changes by statements of this type would be lost with the query, or do not concern the trace.
bool only_reads(duckdb_statement_type type) {
  return type == DUCKDB_STATEMENT_TYPE_SELECT || type == DUCKDB_STATEMENT_TYPE_EXPLAIN;
}

std::unexpected<Error> fail_not_a_query(std::string why) {
  return fail("the query is refused", std::move(why),
              "A query is one statement that reads: SELECT, WITH, FROM, VALUES, PIVOT,\n  "
              "DESCRIBE, SHOW, SUMMARIZE or EXPLAIN. --unsafe-external-access allows all.");
}

// Table functions with side effects on the engine, and one with work that no plan shows.
constexpr std::string_view kCommands[] = {"CHECKPOINT",           "DISABLE_LOGGING",
                                          "ENABLE_LOGGING",       "FORCE_CHECKPOINT",
                                          "TRUNCATE_DUCKDB_LOGS", "JSON_EXECUTE_SERIALIZED_SQL"};

// Whether `sql` may contain such a function: by its name, or in a text for the function `query`.
bool may_have_command(std::string_view sql) {
  std::string upper(sql);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return upper.contains("QUERY") || std::ranges::any_of(kCommands, [&](std::string_view command) {
           return upper.contains(command);
         });
}

// The plan has all of them by name. An EXPLAIN has no plan, so it counts as having one.
bool has_command(duckdb_connection connection, const std::string& sql) {
  duckdb_result plan{};
  const std::string explain = "EXPLAIN (FORMAT json) " + sql;
  bool found = true;
  if (duckdb_query(connection, explain.c_str(), &plan) == DuckDBSuccess) {
    char* const text = duckdb_value_varchar(&plan, 1, 0);
    found = text != nullptr && std::ranges::any_of(kCommands, [&](std::string_view command) {
              return std::string_view(text).contains(fmt::format("\"Function\": \"{}\"", command));
            });
    duckdb_free(text);
  }
  duckdb_destroy_result(&plan);
  return found;
}

// The engine splits a PIVOT without a value list: the first statement makes a type for the second.
// Such a PIVOT must be one statement in the text: its strings must not have a semicolon.
bool is_pivot(std::string_view sql, idx_t count) {
  return count == 2 && !without_end(sql).contains(';');
}

// If a query may only read: the error that prevents its start.
Result<void> check_statements(std::string_view sql, idx_t count) {
  if (count == 1)
    return {};
  if (!is_pivot(sql, count))
    return fail_not_a_query(fmt::format("it has {} statements", count));
  if (may_have_command(sql)) // the first statement would run it before there is a plan to check
    return fail_not_a_query(
        "a function in it may change the engine; a PIVOT that lists its values (IN) may have it");
  return {};
}

// Prepares the last of the statements in `sql`, after running those before it. `types`: of its
// columns before they were made plain.
Result<void> prepare_last(const Connection& of, const std::string& sql, Statement& statement,
                          std::vector<duckdb_type>& types) {
  duckdb_connection connection = of.handle;
  Extracted extracted;
  const idx_t count = duckdb_extract_statements(connection, sql.c_str(), &extracted.handle);
  if (count == 0) {
    const char* why = duckdb_extract_statements_error(extracted.handle);
    return query_failed(why ? why : "it is empty");
  }
  if (of.reads_only)
    if (auto checked = check_statements(sql, count); !checked)
      return checked;
  for (idx_t i = 0; i + 1 < count; ++i)
    if (auto done = run_to_end(connection, extracted.handle, i); !done)
      return done;
  if (duckdb_prepare_extracted_statement(connection, extracted.handle, count - 1,
                                         &statement.handle) != DuckDBSuccess)
    return query_failed(duckdb_prepare_error(statement.handle));
  if (of.reads_only && !only_reads(duckdb_prepared_statement_type(statement.handle)))
    return fail_not_a_query("it does not read, and nothing that it changes is kept");
  if (of.reads_only && may_have_command(sql) && has_command(connection, sql))
    return fail_not_a_query("a function in it does not read, but changes the engine");
  for (idx_t i = 0; i < duckdb_prepared_statement_column_count(statement.handle); ++i)
    types.push_back(duckdb_prepared_statement_column_type(statement.handle, i));
  if (count == 1 && !std::ranges::all_of(types, is_plain)) {
    const std::string plain = as_plain(statement.handle, sql);
    duckdb_destroy_prepare(&statement.handle);
    if (duckdb_prepare(connection, plain.c_str(), &statement.handle) != DuckDBSuccess)
      return query_failed(duckdb_prepare_error(statement.handle));
  }
  return {};
}

std::string metric(duckdb_profiling_info node, const char* name) {
  duckdb_value value = node ? duckdb_profiling_info_get_value(node, name) : nullptr;
  if (!value)
    return {};
  char* text = duckdb_get_varchar(value);
  std::string found = text ? text : "";
  duckdb_free(text);
  duckdb_destroy_value(&value);
  return found;
}

// As counted by the operator that gives the result; 0 also if the engine has no such operator.
std::uint64_t rows_counted(duckdb_connection connection, duckdb_result result) {
  if (duckdb_result_statement_type(result) != DUCKDB_STATEMENT_TYPE_SELECT)
    return 0;
  duckdb_profiling_info node = duckdb_get_profiling_info(connection);
  idx_t last = 0; // the last child: the result of a common table expression
  do {
    node = duckdb_profiling_info_get_child(node, last);
    last = node ? duckdb_profiling_info_get_child_count(node) : 0;
  } while (last-- > 0 && metric(node, "OPERATOR_TYPE") == "CTE");
  return std::strtoull(metric(node, "OPERATOR_CARDINALITY").c_str(), nullptr, 10);
}

} // namespace

Error engine_error(std::string what, const char* why) {
  Error error{std::move(what), why ? why : "no reason given", ""};
  error.why.resize(std::min(error.why.find("\n\nStack Trace:"), error.why.size())); // of the engine
  std::ranges::replace(error.why, '\t', ' ');
  if (error.why.starts_with("Out of Memory Error")) {
    error.code = ENOMEM;
    error.why.resize(std::min(error.why.find("\n\n"), error.why.size())); // advice about settings
    error.hint =
        "It may take half of the machine's memory, 4 GiB at most, and no more than `ulimit -v` "
        "and its control group allow.";
  }
  return error;
}

Result<void> count_rows(const Connection& connection) {
  for (const char* setting :
       {"SET enable_profiling = 'no_output'",
        R"(SET custom_profiling_settings = '{"OPERATOR_CARDINALITY": "true"}')"})
    if (duckdb_query(connection.handle, setting, nullptr) != DuckDBSuccess)
      return fail("SQL engine", fmt::format("it refuses: {}", setting));
  return {};
}

Result<Rows> Rows::run(Connection& connection, std::string_view sql) {
  ++connection.queries;
  Statement statement;
  std::vector<duckdb_type> types;
  if (auto prepared = prepare_last(connection, std::string(sql), statement, types); !prepared)
    return std::unexpected(prepared.error());
  Rows rows;
  rows.connection_ = &connection;
  rows.query_ = connection.queries;
  if (duckdb_execute_prepared_streaming(statement.handle, &rows.result_) != DuckDBSuccess)
    return query_failed(duckdb_result_error(&rows.result_));
  for (idx_t i = 0; i < duckdb_column_count(&rows.result_); ++i) {
    const duckdb_type type = duckdb_column_type(&rows.result_, i);
    rows.types_.push_back(type);
    const bool is_cast = type == DUCKDB_TYPE_VARCHAR && i < types.size();
    rows.columns_.push_back(
        {duckdb_column_name(&rows.result_, i), is_cast ? kind_of_cast(types[i]) : kind_of(type)});
  }
  rows.row_.resize(rows.columns_.size());
  rows.digits_.resize(rows.columns_.size());
  return rows;
}

Rows::Rows(Rows&& other) noexcept
    : connection_(other.connection_), query_(other.query_), delivered_(other.delivered_),
      result_(std::exchange(other.result_, {})), chunk_(std::exchange(other.chunk_, nullptr)),
      chunk_row_(other.chunk_row_), chunk_rows_(other.chunk_rows_),
      columns_(std::move(other.columns_)), types_(std::move(other.types_)),
      row_(std::move(other.row_)), digits_(std::move(other.digits_)) {}

Rows::~Rows() {
  duckdb_destroy_data_chunk(&chunk_);
  duckdb_destroy_result(&result_);
}

Result<bool> Rows::next() {
  if (chunk_row_ == chunk_rows_) {
    auto more = next_chunk();
    if (!more || !*more)
      return more;
  }
  for (idx_t column = 0; column < columns_.size(); ++column)
    row_[column] = cell(column);
  ++chunk_row_;
  return true;
}

Result<bool> Rows::next_chunk() {
  do {
    duckdb_destroy_data_chunk(&chunk_);
    chunk_ = duckdb_fetch_chunk(result_);
    if (!chunk_) {
      chunk_row_ = chunk_rows_ = 0;
      if (const char* why = duckdb_result_error(&result_); why && *why)
        return query_failed(why);
      return end();
    }
    chunk_row_ = 0;
    chunk_rows_ = duckdb_data_chunk_get_size(chunk_);
  } while (chunk_rows_ == 0);
  delivered_ += chunk_rows_;
  return true;
}

// No chunk and no error: the end, or a stream that the engine closed.
Result<bool> Rows::end() const {
  if (connection_->queries != query_)
    return query_failed("another query was begun before all its rows were read");
  const std::uint64_t counted = rows_counted(connection_->handle, result_);
  if (counted > delivered_)
    return query_failed(
        fmt::format("the engine made {} rows and delivered {}", counted, delivered_).c_str());
  return false;
}

Cell Rows::cell(idx_t column) {
  duckdb_vector vector = duckdb_data_chunk_get_vector(chunk_, column);
  std::uint64_t* validity = duckdb_vector_get_validity(vector);
  if (validity && !duckdb_validity_row_is_valid(validity, chunk_row_))
    return std::monostate{};
  const void* data = duckdb_vector_get_data(vector);
  const auto at = [&]<class T>(T) { return static_cast<const T*>(data)[chunk_row_]; };
  switch (types_[column]) {
  case DUCKDB_TYPE_BOOLEAN:
    return at(bool{});
  case DUCKDB_TYPE_TINYINT:
    return std::int64_t{at(std::int8_t{})};
  case DUCKDB_TYPE_SMALLINT:
    return std::int64_t{at(std::int16_t{})};
  case DUCKDB_TYPE_INTEGER:
    return std::int64_t{at(std::int32_t{})};
  case DUCKDB_TYPE_BIGINT:
    return at(std::int64_t{});
  case DUCKDB_TYPE_UTINYINT:
    return std::uint64_t{at(std::uint8_t{})};
  case DUCKDB_TYPE_USMALLINT:
    return std::uint64_t{at(std::uint16_t{})};
  case DUCKDB_TYPE_UINTEGER:
    return std::uint64_t{at(std::uint32_t{})};
  case DUCKDB_TYPE_UBIGINT:
    return at(std::uint64_t{});
  case DUCKDB_TYPE_FLOAT:
    return static_cast<double>(at(float{}));
  case DUCKDB_TYPE_DOUBLE:
    return at(double{});
  case DUCKDB_TYPE_HUGEINT:
    digits_[column] = digits_of(at(duckdb_hugeint{}));
    return std::string_view(digits_[column]);
  case DUCKDB_TYPE_VARCHAR: {
    auto& text = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector))[chunk_row_];
    return std::string_view(duckdb_string_t_data(&text), duckdb_string_t_length(text));
  }
  default: // a statement that cannot be wrapped yields other types only for results without rows
    return std::monostate{};
  }
}

} // namespace iotrail::analysis
