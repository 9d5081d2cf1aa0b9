// SPDX-License-Identifier: BSD-3-Clause
#include "export/output.hpp"
#include "export/trace_format.hpp"
#include "export/trace_rows.hpp"
#include "text/printable.hpp"

namespace iotrail::output {
namespace {

void put_darshan_name(Sink& sink, std::string_view path) {
  sink.put('"');
  for (const char c : printable(path)) {
    if (c == '"')
      sink.put('"');
    sink.put(c);
  }
  sink.put('"');
}

// A row of the view is a file, and its columns from the third on are counters.
Result<void> write_darshan(const TraceInput& input, Sink& sink) {
  auto rows = input.engine.query("FROM posix_counters ORDER BY file");
  if (!rows)
    return std::unexpected(rows.error());
  sink.put("module,rank,record,counter,value,file\n");
  while (!sink.is_broken()) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      break;
    const TraceRow row(rows->row());
    for (std::size_t i = 2; i < rows->columns().size(); ++i) {
      sink.print("POSIX,0,{},{},{},", row.number(0), rows->columns()[i].name,
                 cell_text(row.cell(i)));
      put_darshan_name(sink, row.text(1));
      sink.put('\n');
    }
  }
  return {};
}

} // namespace

extern const TraceFormat kTraceFormatDarshan = {
    .name = "darshan",
    .suffix = "darshan.csv",
    .doc = "counters of each file with the names of Darshan's module POSIX, as CSV",
    .omits = "single calls, layers other than the calls, MPI ranks (always 0) and mount points",
    .write = write_darshan,
};

} // namespace iotrail::output
