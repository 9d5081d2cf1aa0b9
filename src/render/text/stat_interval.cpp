// SPDX-License-Identifier: BSD-3-Clause
#include "render/text/stat_interval.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "render/text/value_text.hpp"
#include "schema.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

// The events of one operation in an interval.
struct StatLine {
  const rows::event_sums* first = nullptr;
  std::uint64_t events = 0;
  std::uint64_t errors = 0;
  std::uint64_t bytes = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t max_ns = 0;
  std::map<std::uint64_t, std::uint64_t> events_below; // by the upper bound of their duration
};

std::map<std::pair<iot_u32, std::string>, StatLine>
stat_lines_of(std::span<const rows::event_sums> rows) {
  std::map<std::pair<iot_u32, std::string>, StatLine> lines;
  for (const rows::event_sums& row : rows) {
    StatLine& line = lines[{row.event, row.operation}];
    line.first = &row;
    line.events += row.events;
    line.errors += row.error < 0 && row.error != IOT_UNFINISHED ? row.events : 0;
    line.bytes += row.bytes;
    line.duration_ns += row.duration_ns;
    line.max_ns = std::max<std::uint64_t>(line.max_ns, row.max_ns);
    line.events_below[row.below_ns] += row.events;
  }
  return lines;
}

// 99 of 100 operations took at most this long.
std::uint64_t p99_ns(const StatLine& line) {
  std::uint64_t so_far = 0;
  for (const auto& [below_ns, events] : line.events_below) {
    so_far += events;
    if (so_far * 100 >= line.events * 99)
      return std::min(below_ns - 1, line.max_ns);
  }
  return line.max_ns;
}

constexpr fmt::string_view kStatLine = "  {:<8}{:<15}{:>10}{:>12}{:>9}{:>9}{:>9}{:>6}\n";

std::string stat_line_text(const StatLine& line, double seconds, const Sample& sample) {
  const std::string_view layer = schema::layer_name(line.first->layer);
  const std::uint64_t scale_factor = sample.scale_factor(layer);
  const auto rate = [&](std::uint64_t number) {
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(scaled(number, scale_factor)) / seconds));
  };
  const auto mark = [&](std::uint64_t number) { return estimate_mark(number, scale_factor); };
  const auto rate_text = [&](std::uint64_t number) { // a rare event is not shown as 0
    const std::uint64_t of_second = rate(number);
    return fmt::format("{}{}", mark(number),
                       of_second == 0 && number != 0 ? "< 1" : human_count(of_second));
  };
  const bool has_time = line.first->below_ns != 0;
  const auto duration = [&](std::uint64_t ns) {
    return has_time ? human_duration(ns) : std::string("-");
  };
  const std::string errors = line.errors == 0 ? "-" : rate_text(line.errors);
  const std::string bytes =
      line.bytes == 0 ? "-"
                      : fmt::format("{}{}/s", mark(line.bytes), human_bytes(rate(line.bytes)));
  return fmt::format(kStatLine, layer, line.first->operation.substr(0, 14), rate_text(line.events),
                     bytes, duration(line.duration_ns / std::max<std::uint64_t>(1, line.events)),
                     duration(p99_ns(line)), duration(line.max_ns), errors);
}

} // namespace

std::string interval_text(std::span<const rows::event_sums> rows, std::uint64_t begin_ns,
                          const Sample& sample, bool with_title) {
  if (rows.empty())
    return {};
  const std::uint64_t to_ns = std::ranges::max(rows, {}, &rows::event_sums::to_ns).to_ns;
  const std::uint64_t from_ns = std::ranges::min(rows, {}, &rows::event_sums::from_ns).from_ns;
  const double seconds = static_cast<double>(to_ns - from_ns) / 1e9;
  std::string text;
  if (with_title)
    text = fmt::format(kStatLine, "layer", "operation", "per s", "bytes", "mean", "p99", "max",
                       "err/s");
  text += fmt::format("at {}\n", human_duration(to_ns - begin_ns));
  for (const auto& [key, line] : stat_lines_of(rows))
    text += stat_line_text(line, std::max(seconds, 1e-9), sample);
  return text;
}

} // namespace iotrail::output
