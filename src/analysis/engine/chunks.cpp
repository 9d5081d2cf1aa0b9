// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/chunks.hpp"

#include <cstdlib>
#include <utility>

namespace iotrail::analysis {

namespace {

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

struct ArrowOptions {
  duckdb_arrow_options handle;
  explicit ArrowOptions(duckdb_result& result) : handle(duckdb_result_get_arrow_options(&result)) {}
  ArrowOptions(const ArrowOptions&) = delete;
  ArrowOptions& operator=(const ArrowOptions&) = delete;
  ~ArrowOptions() { duckdb_destroy_arrow_options(&handle); }
};

Result<void> arrow_result(duckdb_error_data error) {
  Result<void> done;
  if (duckdb_error_data_has_error(error))
    done = query_failed(duckdb_error_data_message(error));
  duckdb_destroy_error_data(&error);
  return done;
}

} // namespace

Result<void> count_rows(const Connection& connection) {
  for (const char* setting :
       {"SET enable_profiling = 'no_output'",
        R"(SET custom_profiling_settings = '{"OPERATOR_CARDINALITY": "true"}')"})
    if (duckdb_query(connection.handle, setting, nullptr) != DuckDBSuccess)
      return fail("SQL engine", fmt::format("it refuses: {}", setting));
  return {};
}

Result<Chunks> Chunks::run(Connection& connection, std::string_view sql, Form form) {
  ++connection.queries;
  Chunks chunks;
  chunks.connection_ = &connection;
  chunks.query_ = connection.queries;
  if (connection.time_limit_ns != 0)
    chunks.timer_ = std::make_unique<QueryTimer>(connection.handle, connection.time_limit_ns,
                                                 connection.on_overdue);
  Statement statement;
  auto types = prepare_last(connection, std::string(sql), statement, form);
  if (!types)
    return chunks.failed(types.error());
  chunks.asked_types_ = std::move(*types);
  if (duckdb_execute_prepared_streaming(statement.handle, &chunks.result_) != DuckDBSuccess)
    return chunks.failed(query_failed(duckdb_result_error(&chunks.result_)).error());
  return chunks;
}

Chunks::Chunks(Chunks&& other) noexcept
    : connection_(other.connection_), timer_(std::move(other.timer_)), query_(other.query_),
      delivered_(other.delivered_), result_(std::exchange(other.result_, {})),
      chunk_(std::exchange(other.chunk_, nullptr)), rows_(other.rows_),
      asked_types_(std::move(other.asked_types_)) {}

Chunks::~Chunks() {
  duckdb_destroy_data_chunk(&chunk_);
  duckdb_destroy_result(&result_);
}

Result<bool> Chunks::next() {
  do {
    duckdb_destroy_data_chunk(&chunk_);
    chunk_ = duckdb_fetch_chunk(result_);
    if (!chunk_) {
      rows_ = 0;
      if (const char* why = duckdb_result_error(&result_); why && *why)
        return failed(query_failed(why).error());
      return end();
    }
    rows_ = duckdb_data_chunk_get_size(chunk_);
  } while (rows_ == 0);
  delivered_ += rows_;
  return true;
}

Result<void> Chunks::to_arrow(OwnedArrow<ArrowSchema>& schema) {
  const ArrowOptions options(result_);
  std::vector<duckdb_logical_type> types;
  std::vector<const char*> names;
  for (idx_t i = 0; i < columns(); ++i) {
    types.push_back(duckdb_column_logical_type(&result_, i));
    names.push_back(duckdb_column_name(&result_, i));
  }
  auto done = arrow_result(
      duckdb_to_arrow_schema(options.handle, types.data(), names.data(), types.size(), &*schema));
  for (duckdb_logical_type& type : types)
    duckdb_destroy_logical_type(&type);
  return done;
}

Result<void> Chunks::to_arrow(OwnedArrow<ArrowArray>& values) {
  const ArrowOptions options(result_);
  return arrow_result(duckdb_data_chunk_to_arrow(options.handle, chunk_, &*values));
}

std::unexpected<Error> Chunks::failed(Error failure) const {
  return std::unexpected(timer_ ? timer_->explained(std::move(failure)) : std::move(failure));
}

// No chunk and no error: the end, or a stream that the engine closed.
Result<bool> Chunks::end() const {
  if (connection_->queries != query_)
    return query_failed("another query was begun before all its rows were read");
  const std::uint64_t counted = rows_counted(connection_->handle, result_);
  if (counted > delivered_)
    return failed(
        query_failed(
            fmt::format("the engine made {} rows and delivered {}", counted, delivered_).c_str())
            .error());
  return false;
}

} // namespace iotrail::analysis
