// SPDX-License-Identifier: BSD-3-Clause
#include "export/json.hpp"
#include "export/trace_format.hpp"
#include "export/trace_rows.hpp"
#include "text/printable.hpp"
#include "value_text.hpp"

namespace iotrail::output {
namespace {

// The slowest calls on files are traces. Below each are the spans that the kernel did for it, and what
// it caused at devices, which may come later.
constexpr std::string_view kOtlpSql = R"(
WITH known AS (SELECT coalesce((SELECT greatest(TRY_CAST(value AS BIGINT), 0) FROM manifest
WHERE "key" = 'monotonic_to_real_ns'), 0) AS shift_ns), slow AS MATERIALIZED (SELECT op_id,
min(coalesce(call, class)) AS name, min(ts_ns) AS ts_ns, max(until_ns) AS until_ns, min(error)
AS error, max(bytes) AS bytes, min(path) AS path, min(program) AS program, min(pid) AS pid
FROM file_calls WHERE op_id <> 0 GROUP BY op_id ORDER BY max(duration_ns) DESC, op_id LIMIT
100), spans AS (SELECT op_id, 0 AS is_child, name, ts_ns, until_ns, error, bytes, path,
program, pid FROM slow UNION ALL SELECT o.op_id, 1, o.layer || ' ' || coalesce(o.call,
o.class), o.ts_ns, plus(o.ts_ns, o.duration_ns), o.error, o.bytes, o.path, s.program, o.pid
FROM operations AS o JOIN slow AS s ON o.op_id = s.op_id WHERE o.layer NOT IN (SELECT
asked_layer FROM asked_layers) AND o.layer <> layer_at('devices') UNION ALL SELECT l.op_id, 1,
l.direction || ' ' || l.cause, l.issued_ns, l.completed_ns, l.error, total(l.bytes),
any_value(d.name), s.program, s.pid FROM all_links AS l JOIN slow AS s ON l.op_id = s.op_id
LEFT JOIN (SELECT device, min(name) AS name FROM devices GROUP BY device) AS d ON l.device =
d.device WHERE l.completed_ns IS NOT NULL AND l.issued_ns IS NOT NULL GROUP BY l.op_id,
l.direction, l.cause, l.issued_ns, l.completed_ns, l.error, s.program, s.pid) SELECT p.op_id,
is_child, name, plus(ts_ns, shift_ns), plus(until_ns, shift_ns), error, bytes, path, program,
pid FROM spans AS p CROSS JOIN known ORDER BY p.op_id, is_child, ts_ns, name)";

void put_otlp_attribute(Sink& sink, std::string_view key, std::string_view text) {
  sink.print(R"({{"key":"{}","value":{{"stringValue":)", key);
  put_json_text(sink, printable(text));
  sink.put("}}");
}

class OtlpWriter {
public:
  explicit OtlpWriter(Sink& sink) : sink_(sink) {}

  // Numbers of 64 bits are texts in this JSON. The number of an operation names its trace.
  void add(const TraceRow& row) {
    const bool is_child = row.number(1) != 0;
    if (!is_child)
      root_ = spans_ + 1;
    sink_.print(R"({}{{"traceId":"{:032x}","spanId":"{:016x}",)", spans_ == 0 ? "\n" : ",\n",
                row.number(0), spans_ + 1);
    ++spans_;
    if (is_child)
      sink_.print(R"("parentSpanId":"{:016x}",)", root_);
    sink_.put("\"name\":");
    put_json_text(sink_, printable(row.text(2)));
    sink_.print(R"(,"kind":1,"startTimeUnixNano":"{}","endTimeUnixNano":"{}","attributes":[)",
                row.number(3), row.number(4));
    put_otlp_attribute(sink_, "process.executable.name", row.text(8));
    sink_.print(R"(,{{"key":"process.pid","value":{{"intValue":"{}"}}}})", row.number(9));
    if (!row.is_null(6))
      sink_.print(R"(,{{"key":"bytes","value":{{"intValue":"{}"}}}})", row.number(6));
    if (!row.is_null(7)) {
      sink_.put(',');
      put_otlp_attribute(sink_, is_child ? "place" : "file.path", row.text(7));
    }
    sink_.put(']');
    if (row.signed_number(5) < 0)
      sink_.print(R"(,"status":{{"code":2,"message":"{}"}})",
                  schema::errno_name(row.signed_number(5)));
    sink_.put('}');
  }

private:
  Sink& sink_;
  std::uint64_t spans_ = 0;
  std::uint64_t root_ = 0;
};

Result<void> write_otlp(const TraceInput& input, Sink& sink) {
  sink.put(R"({"resourceSpans":[{"resource":{"attributes":[)");
  put_otlp_attribute(sink, "service.name", "iotrail");
  sink.put(',');
  put_otlp_attribute(sink, "host.name", input.engine.trace().manifest().host);
  sink.put(R"(]},"scopeSpans":[{"scope":{"name":"iotrail"},"spans":[)");
  OtlpWriter writer(sink);
  auto done =
      for_each_row(input.engine, kOtlpSql, sink, [&](const TraceRow& row) { writer.add(row); });
  sink.put("]}]}]}\n");
  return done;
}

} // namespace

extern const TraceFormat kTraceFormatOtlp = {
    .name = "otlp",
    .suffix = "otlp.json",
    .doc = "the 100 slowest calls on files as spans of OpenTelemetry (JSON)",
    .omits = "all but the 100 slowest calls on files, and what belongs to them",
    .http_type = "application/json",
    .write = write_otlp,
};

} // namespace iotrail::output
