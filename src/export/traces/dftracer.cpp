// SPDX-License-Identifier: BSD-3-Clause
#include "export/json.hpp"
#include "export/model/gzip.hpp"
#include "export/trace_format.hpp"
#include "export/trace_rows.hpp"
#include "text/printable.hpp"

namespace iotrail::output {
namespace {

constexpr std::string_view kDftracerSql = R"(
SELECT coalesce(call, class), layer, pid, tid, (ts_ns + CAST((SELECT greatest(CAST(value AS
BIGINT), 0) FROM manifest WHERE "key" = 'monotonic_to_real_ns') AS HUGEINT)) // 1000 AS at_us,
duration_ns // 1000, bytes, error, path FROM operations WHERE layer IN (layer_at('library'),
layer_at('kernel'), layer_at('later')) ORDER BY ts_ns, op_id)";

// One event of a category: STDIO for the C library, POSIX for system calls.
void put_dftracer_line(Sink& sink, const TraceRow& row, std::uint64_t id) {
  sink.print(R"({{"id":{},"name":)", id);
  put_json_text(sink, printable(row.text(0)));
  sink.print(R"(,"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"ph":"X","args":{{"ret":{})",
             row.text(1) == "app" ? "STDIO" : "POSIX", row.number(2), row.number(3),
             cell_text(row.cell(4)), row.number(5),
             row.signed_number(7) < 0 ? row.signed_number(7) : row.signed_number(6));
  if (!row.is_null(8)) {
    sink.put(",\"fname\":");
    put_json_text(sink, printable(row.text(8)));
  }
  sink.put("}}\n");
}

Result<void> write_dftracer(const TraceInput& input, Sink& sink) {
  GzipSink compressed(sink);
  compressed.put("[\n");
  std::string line;
  std::uint64_t id = 0;
  auto done = for_each_row(input.engine, kDftracerSql, sink, [&](const TraceRow& row) {
    line.clear();
    Sink text(line);
    put_dftracer_line(text, row, id++);
    (void)text.finish(); // a string takes all
    compressed.put(line);
  });
  if (!done)
    return done;
  compressed.put("]\n");
  return compressed.finish();
}

} // namespace

extern const TraceFormat kTraceFormatDftracer = {
    .name = "dftracer",
    .suffix = "pfw.gz",
    .doc = "calls for DFAnalyzer and dftracer-utils",
    .omits = "all layers below the calls, and fractions of microseconds",
    .is_binary = true,
    .write = write_dftracer,
};

} // namespace iotrail::output
