// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <string>
#include <vector>

#include "export/trace_format.hpp"
#include "export/trace_rows.hpp"
#include "text/printable.hpp"

namespace iotrail::output {
namespace {

// A metric, and the query that gives its labels and, last, its value.
struct Metric {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::vector<std::string_view> labels;
  std::string_view sql;
};

const std::array kMetrics = {
    Metric{"iotrail_operations_total",
           "counter",
           "Operations of a layer.",
           {"layer", "operation"},
           "SELECT layer, operation, operations FROM layers ORDER BY ALL"},
    Metric{"iotrail_operation_errors_total",
           "counter",
           "Operations that returned an error.",
           {"layer", "operation"},
           "SELECT layer, operation, errors FROM layers ORDER BY ALL"},
    Metric{"iotrail_bytes_total",
           "counter",
           "Bytes that operations moved.",
           {"layer", "operation"},
           "SELECT layer, operation, bytes FROM layers WHERE bytes IS NOT NULL ORDER BY ALL"},
    Metric{"iotrail_caused_bytes_total",
           "counter",
           "Bytes that devices completed, by the program that caused them.",
           {"device", "direction", "cause", "program"},
           "SELECT device, direction, cause, program, total(bytes) FROM byte_stacks GROUP BY ALL "
           "ORDER "
           "BY ALL"},
    Metric{"iotrail_program_calls_total",
           "counter",
           "Calls on files.",
           {"program"},
           "SELECT program, total(calls) FROM program_io GROUP BY ALL ORDER BY ALL"},
    Metric{"iotrail_events_lost_total",
           "counter",
           "Events that the trace lacks.",
           {"source"},
           "SELECT source, lost FROM sources ORDER BY ALL"},
    Metric{"iotrail_run_nanoseconds",
           "gauge",
           "Length of the recording.",
           {},
           "SELECT duration_ns FROM run"},
};

void put_label(Sink& sink, std::string_view name, std::string_view value) {
  sink.print("{}=\"", name);
  for (const char c : printable(value)) {
    if (c == '"' || c == '\\')
      sink.put('\\');
    sink.put(c);
  }
  sink.put('"');
}

void put_labels(Sink& sink, const std::vector<std::string_view>& labels, const TraceRow& row) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    sink.put(i == 0 ? "{" : ",");
    put_label(sink, labels[i], row.text(i));
  }
}

Result<void> put_metric(const TraceInput& input, Sink& sink, const Metric& metric) {
  sink.print("# HELP {0} {2}\n# TYPE {0} {1}\n", metric.name, metric.type, metric.help);
  return for_each_row(input.engine, metric.sql, sink, [&](const TraceRow& row) {
    sink.put(metric.name);
    put_labels(sink, metric.labels, row);
    sink.print("{} {}\n", metric.labels.empty() ? "" : "}", row.number(metric.labels.size()));
  });
}

// The class of a duration is the smallest power of two, from 1 us on, that it does not exceed.
constexpr std::string_view kHistogramSql = R"(
WITH
  spans AS (
    SELECT layer, operation, duration_ns,
           CAST(greatest(0, ceil(log2(greatest(duration_ns, 1000) / 1000.0))) AS INTEGER) AS class
    FROM events WHERE duration_ns IS NOT NULL
  ),
  classes AS (SELECT layer, operation, class, count(*) AS n, total(duration_ns) AS ns FROM spans GROUP BY ALL)
SELECT layer, operation, class, CAST(sum(n) OVER up AS BIGINT), CAST(least(sum(ns) OVER whole, 9223372036854775807) AS BIGINT),
       lead(class) OVER up IS NULL
FROM classes
WINDOW whole AS (PARTITION BY layer, operation), up AS (PARTITION BY layer, operation ORDER BY class)
ORDER BY layer, operation, class)";

Result<void> put_histograms(const TraceInput& input, Sink& sink) {
  constexpr std::string_view kName = "iotrail_operation_duration_nanoseconds";
  const std::vector<std::string_view> labels = {"layer", "operation"};
  sink.print("# HELP {0} Durations of operations.\n# TYPE {0} histogram\n", kName);
  return for_each_row(input.engine, kHistogramSql, sink, [&](const TraceRow& row) {
    const std::uint64_t count = row.number(3);
    const auto put = [&](std::string_view part, std::string_view limit, std::uint64_t value) {
      sink.print("{}_{}", kName, part);
      put_labels(sink, labels, row);
      sink.print("{}}} {}\n", limit, value);
    };
    constexpr std::uint64_t kLastClass = 53; // the last with a limit of 64 bits
    const std::uint64_t step = std::min(row.number(2), kLastClass);
    put("bucket", fmt::format(",le=\"{}\"", 1000ULL << step), count);
    if (!row.is_true(5))
      return;
    put("bucket", ",le=\"+Inf\"", count);
    put("sum", "", row.number(4));
    put("count", "", count);
  });
}

Result<void> write_prometheus(const TraceInput& input, Sink& sink) {
  for (const Metric& metric : kMetrics)
    if (auto done = put_metric(input, sink, metric); !done)
      return done;
  return put_histograms(input, sink);
}

} // namespace

extern const TraceFormat kTraceFormatPrometheus = {
    .name = "prometheus",
    .suffix = "prom",
    .doc = "counters and histograms for Prometheus (text format 0.0.4)",
    .omits = "single events and their times: it has the sums of the recording",
    .http_type = "text/plain; version=0.0.4",
    .write = write_prometheus,
};

} // namespace iotrail::output
