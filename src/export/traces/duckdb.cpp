// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/sql_text.hpp"
#include "export/model/relations.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

Result<void> write_duckdb(const TraceInput& input, const std::filesystem::path& path) {
  const auto engine = writing_engine(input);
  if (!engine)
    return std::unexpected(engine.error());
  auto done = run_statement(
      **engine, fmt::format("ATTACH {} AS exported", analysis::sql_literal(path.string())));
  for (const std::string& relation : relations_of(input.engine.trace()))
    if (done)
      done = run_statement(**engine, fmt::format("CREATE TABLE exported.{0} AS FROM {0}",
                                                 analysis::sql_name(relation)));
  return done ? run_statement(**engine, "DETACH exported") : done;
}

} // namespace

extern const TraceFormat kTraceFormatDuckdb = {
    .name = "duckdb",
    .suffix = "duckdb",
    .doc = "a database file for DuckDB",
    .omits = "SQL functions and most views: the main ones are tables; numbers are as stored, and "
             "value_names has their names",
    .is_binary = true,
    .write_path = write_duckdb,
};

} // namespace iotrail::output
