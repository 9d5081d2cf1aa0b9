// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/sql_text.hpp"
#include "export/arrow/arrow_file.hpp"
#include "export/model/relations.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

Result<std::uint64_t> write_arrow_table(analysis::Engine& engine, const std::string& relation,
                                        std::FILE* file) {
  auto chunks = engine.query_for_arrow("FROM " + analysis::sql_name(relation));
  if (!chunks)
    return std::unexpected(chunks.error());
  return write_arrow(*chunks, file);
}

Result<void> write_arrow_directory(const TraceInput& input, const OutputDirectory& directory) {
  for (const std::string& relation : relations_of(input.engine.trace())) {
    const auto written = directory.write(relation + ".arrow", [&](std::FILE* file) {
      return write_arrow_table(input.engine, relation, file);
    });
    if (!written)
      return std::unexpected(written.error());
  }
  return {};
}

} // namespace

extern const TraceFormat kTraceFormatArrow = {
    .name = "arrow",
    .suffix = "arrow",
    .doc = "a file a table, which polars, pandas and others map into memory",
    .omits = "SQL functions and most views: the main ones are tables; numbers are as stored, and "
             "value_names has their names",
    .is_binary = true,
    .write_files = write_arrow_directory,
};

} // namespace iotrail::output
