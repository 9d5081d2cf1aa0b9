// SPDX-License-Identifier: BSD-3-Clause
#include "report/documents/stat_interval.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "report/section.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kIntervalColumns[] = {
    {.title = "layer", .name = "layer"},
    {.title = "operation", .name = "operation"},
    {.title = "", .name = "operations", .meaning = Meaning::count, .is_sum = true},
    {.title = "per s", .name = "operations_per_second", .meaning = Meaning::count, .is_sum = true},
    {.title = "", .name = "bytes", .meaning = Meaning::bytes, .is_sum = true},
    {.title = "bytes/s",
     .name = "bytes_per_second",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .is_sum = true},
    {.title = "mean", .name = "mean_ns", .meaning = Meaning::ns},
    {.title = "p99", .name = "p99_ns", .meaning = Meaning::ns},
    {.title = "max", .name = "max_ns", .meaning = Meaning::ns},
    {.title = "", .name = "errors", .meaning = Meaning::count, .is_sum = true},
    {.title = "err/s",
     .name = "errors_per_second",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .is_sum = true},
};

// The events of one operation in an interval.
struct IntervalSums {
  const rows::event_sums* first = nullptr;
  std::uint64_t events = 0;
  std::uint64_t errors = 0;
  std::uint64_t bytes = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t max_ns = 0;
  std::map<std::uint64_t, std::uint64_t> events_below; // by the upper bound of their duration
};

using SumsByOperation = std::map<std::pair<iot_u32, std::string>, IntervalSums>;

SumsByOperation sums_of(std::span<const rows::event_sums> rows) {
  SumsByOperation all;
  for (const rows::event_sums& row : rows) {
    IntervalSums& sums = all[{row.event, row.operation}];
    sums.first = &row;
    sums.events += row.events;
    sums.errors += row.error < 0 && row.error != IOT_UNFINISHED ? row.events : 0;
    sums.bytes += row.bytes;
    sums.duration_ns += row.duration_ns;
    sums.max_ns = std::max<std::uint64_t>(sums.max_ns, row.max_ns);
    sums.events_below[row.below_ns] += row.events;
  }
  return all;
}

// 99 of 100 operations took at most this long.
std::uint64_t p99_ns(const IntervalSums& sums) {
  std::uint64_t so_far = 0;
  for (const auto& [below_ns, events] : sums.events_below) {
    so_far += events;
    if (so_far * 100 >= sums.events * 99)
      return std::min(below_ns - 1, sums.max_ns);
  }
  return sums.max_ns;
}

std::vector<Value> row_of_interval(const IntervalSums& sums, double seconds) {
  const auto rate = [&](std::uint64_t number) { return static_cast<double>(number) / seconds; };
  const bool has_time = sums.first->below_ns != 0;
  const auto duration = [&](std::uint64_t ns) { return has_time ? Value(ns) : Value(); };
  return {std::string(schema::layer_name(sums.first->layer)),
          sums.first->operation,
          sums.events,
          rate(sums.events),
          sums.bytes,
          rate(sums.bytes),
          duration(sums.duration_ns / std::max<std::uint64_t>(1, sums.events)),
          duration(p99_ns(sums)),
          duration(sums.max_ns),
          sums.errors,
          rate(sums.errors)};
}

} // namespace

Document make_interval(std::span<const rows::event_sums> rows, const Span& interval,
                       std::uint64_t begin_ns, const Sample& sample) {
  Document document;
  const double seconds = std::max(1e-9, static_cast<double>(interval.length_ns()) / 1e9);
  document.title =
      sentence(rows.empty() ? "at {at_ns}, no I/O in the last {interval_ns}"
                            : "at {at_ns}, rates of the last {interval_ns}",
               {ns_value("at_ns", interval.end_ns - std::min(interval.end_ns, begin_ns)),
                ns_value("interval_ns", interval.length_ns())});
  std::vector<std::vector<Value>> values;
  for (const auto& [key, sums] : sums_of(rows))
    values.push_back(row_of_interval(sums, seconds));
  Section section = make_table("interval", "", kIntervalColumns, std::move(values));
  for (Row& row : section.rows)
    row.scale_factor = sample.scale_factor(text_of(row.values.front()));
  document.sections.push_back(std::move(section));
  return document;
}

} // namespace iotrail::output
