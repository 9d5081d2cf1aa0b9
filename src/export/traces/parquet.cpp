// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/sql_text.hpp"
#include "export/model/relations.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

using analysis::sql_literal;
using analysis::sql_name;

// The engine opens the new, empty file once more by its descriptor.
Result<void> write_parquet_file(analysis::Engine& engine, const std::string& relation,
                                std::FILE* file) {
  const std::string path = fmt::format("/proc/self/fd/{}", ::fileno(file));
  return run_statement(
      engine,
      fmt::format("COPY (FROM {}) TO {} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)",
                  sql_name(relation), sql_literal(path)));
}

Result<void> write_parquet_directory(const TraceInput& input, const OutputDirectory& directory) {
  const auto engine = writing_engine(input);
  if (!engine)
    return std::unexpected(engine.error());
  std::string views;
  for (const std::string& relation : relations_of(input.engine.trace())) {
    const std::string name = relation + ".parquet";
    auto written = directory.write(
        name, [&](std::FILE* file) { return write_parquet_file(**engine, relation, file); });
    if (!written)
      return written;
    views += fmt::format("CREATE OR REPLACE VIEW {} AS FROM read_parquet({});\n",
                         sql_name(relation), sql_literal(name));
  }
  return directory.write("views.sql", [&](std::FILE* file) {
    Sink sink(file);
    sink.put("-- In this directory: duckdb -init views.sql\n");
    sink.put(views);
    return sink.finish();
  });
}

} // namespace

extern const TraceFormat kTraceFormatParquet = {
    .name = "parquet",
    .suffix = "parquet",
    .doc = "a file a table, and views.sql, for DuckDB, Spark, pandas and ClickHouse",
    .omits = "SQL functions and most views: the main ones are tables; numbers are as stored, and "
             "value_names has their names",
    .is_binary = true,
    .write_files = write_parquet_directory,
};

} // namespace iotrail::output
