// SPDX-License-Identifier: BSD-3-Clause
#include "report/stat_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/ranges.h>

#include "report/report_section.hpp"
#include "report/report_summary.hpp"
#include "report/warnings.hpp"
#include "text/printable.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr std::uint64_t kRowsOfOneStatTable = 20;

constexpr SectionColumn kOperationColumns[] = {
    {.title = "layer", .name = "layer", .when = When::changed},
    {.title = "operation", .name = "operation"},
    {.title = "count", .name = "operations", .show = Show::count, .is_sum = true},
    {.title = "err", .name = "errors", .show = Show::count, .when = When::known, .is_sum = true},
    {.title = "bytes", .name = "bytes", .show = Show::bytes_or_dash, .rank = 1, .is_sum = true},
    {.title = "total", .name = "total_ns", .show = Show::duration, .is_sum = true},
    {.title = "mean", .name = "mean_ns", .show = Show::duration, .rank = 3},
    {.title = "p50", .name = "p50_ns", .show = Show::duration, .rank = 2},
    {.title = "p99", .name = "p99_ns", .show = Show::duration},
    {.title = "max", .name = "max_ns", .show = Show::duration},
};
constexpr std::string_view kOperationsSql = R"(
SELECT o.layer AS layer, o.operation AS operation, o.operations AS operations, nullif(o.errors, 0) AS errors, o.bytes AS bytes,
       o.total_ns AS total_ns, o.mean_ns AS mean_ns, o.p50_ns AS p50_ns, o.p99_ns AS p99_ns, o.max_ns AS max_ns,
       d.depth AS depth, count(*) OVER (PARTITION BY o.layer) AS all_rows
FROM sum_operations AS o LEFT JOIN layer_list AS d ON o.layer = d.layer)";

// Sums of whatever, before what they are of.
template <std::size_t Count>
constexpr std::array<SectionColumn, 6 + Count> sums_of(const SectionColumn (&whose)[Count]) {
  std::array<SectionColumn, 6 + Count> columns{{
      {.title = "count", .name = "operations", .show = Show::count, .is_sum = true},
      {.title = "errors",
       .name = "errors",
       .show = Show::count,
       .when = When::known,
       .rank = 3,
       .is_sum = true},
      {.title = "read", .name = "bytes_read", .show = Show::bytes_or_dash, .is_sum = true},
      {.title = "written", .name = "bytes_written", .show = Show::bytes_or_dash, .is_sum = true},
      {.title = "total", .name = "total_ns", .show = Show::duration, .is_sum = true},
      {.title = "max", .name = "max_ns", .show = Show::duration, .rank = 2},
  }};
  std::ranges::copy(whose, columns.begin() + 6);
  return columns;
}

constexpr auto kStatFileColumns = sums_of({
    {.title = "inodes", .name = "inodes", .show = Show::count_or_dash, .when = When::known},
    {.title = "file", .name = "path", .fit = Fit::middle},
});
// Files and processes are counted where programs meet the kernel or, where that was not asked for, below.
constexpr std::string_view kStatFilesSql = R"(
WITH
  shown AS MATERIALIZED (
    SELECT layer, coalesce(path, '(no name)') AS path, nullif(count(DISTINCT file), 1) AS inodes, total(operations) AS operations,
           nullif(total(errors), 0) AS errors, total(bytes_read) AS bytes_read, total(bytes_written) AS bytes_written,
           total(total_ns) AS total_ns, max(max_ns) AS max_ns
    FROM sum_files WHERE file <> 0 AND layer IN (SELECT layer FROM sum_layer)
    GROUP BY layer, coalesce(path, '(no name)')
  )
SELECT s.*, a.all_rows AS all_rows FROM shown AS s CROSS JOIN (SELECT count(*) AS all_rows FROM shown) AS a)";

constexpr auto kStatProcessColumns = sums_of({
    {.title = "pid", .name = "pid", .show = Show::digits},
    {.title = "container", .name = "container", .when = When::known, .fit = Fit::middle, .rank = 4},
    {.title = "program", .name = "comm", .fit = Fit::end},
});
constexpr std::string_view kStatProcessesSql = R"(
WITH
  shown AS MATERIALIZED (
    SELECT layer, pid, comm, short_container(container) AS container, operations, nullif(errors, 0) AS errors, bytes_read,
           bytes_written, total_ns, max_ns
    FROM sum_processes WHERE layer IN (SELECT layer FROM sum_layer)
  )
SELECT s.*, a.all_rows AS all_rows FROM shown AS s CROSS JOIN (SELECT count(*) AS all_rows FROM shown) AS a)";

constexpr auto kStatDeviceColumns = sums_of({
    {.title = "device", .name = "device_name", .fit = Fit::middle},
});
constexpr std::string_view kStatDevicesSql = R"(
WITH
  shown AS MATERIALIZED (
    SELECT layer, device, coalesce(device_name, CAST(device AS VARCHAR)) AS device_name, operations,
           nullif(errors, 0) AS errors, bytes_read, bytes_written, total_ns, max_ns
    FROM sum_devices WHERE layer = layer_at('devices')
  )
SELECT s.*, a.all_rows AS all_rows FROM shown AS s CROSS JOIN (SELECT count(*) AS all_rows FROM shown) AS a)";

// "8 of 703 files; all: add --by file --top 703"
void note_left_out(const SmallResult& rows, std::string_view by, std::string_view what, Sink& sink,
                   std::size_t width) {
  if (const std::uint64_t all = rows.number(0, "all_rows"); all > rows.size())
    print_wrapped(fmt::format("{} of {} {}; all: add --by {} --top {}", human_count(rows.size()),
                              human_count(all), what, by, all),
                  sink, width);
}

void note_operations(const SmallResult& rows, const store::TraceReader&, Sink& sink,
                     std::size_t width) {
  std::map<std::string, std::uint64_t> shown;
  std::uint64_t most = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    ++shown[rows.text(row, "layer")];
    most = std::max(most, rows.number(row, "all_rows"));
  }
  std::string text;
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (const std::string layer = rows.text(row, "layer");
        rows.number(row, "all_rows") > shown[layer] &&
        (row == 0 || rows.text(row - 1, "layer") != layer))
      text += fmt::format("{}{} of {} of {}", text.empty() ? "" : ", ", shown[layer],
                          rows.number(row, "all_rows"), layer);
  if (!text.empty())
    print_wrapped(fmt::format("{}; all: add --by operation --top {}", text, most), sink, width);
}

void note_stat_files(const SmallResult& rows, const store::TraceReader&, Sink& sink,
                     std::size_t width) {
  note_left_out(rows, "file", "files", sink, width);
}

void note_stat_processes(const SmallResult& rows, const store::TraceReader&, Sink& sink,
                         std::size_t width) {
  note_left_out(rows, "process", "processes", sink, width);
}

void note_stat_devices(const SmallResult& rows, const store::TraceReader&, Sink& sink,
                       std::size_t width) {
  note_left_out(rows, "device", "devices", sink, width);
}

constexpr Section kStatSections[] = {
    {.name = "operation",
     .title = "Operations",
     .view = "sum_operations",
     .if_empty = "none",
     .sql = kOperationsSql,
     .order = "total_ns DESC NULLS LAST, operations DESC, operation",
     .order_words = "total time",
     .group = "layer",
     .group_order = "depth NULLS LAST, layer",
     .rows = 10,
     .columns = kOperationColumns,
     .add_notes = note_operations},
    {.name = "file",
     .title = "Files",
     .view = "sum_files",
     .layer_phrase = ", seen at layer ",
     .sql = kStatFilesSql,
     .order = "total_ns DESC, operations DESC, path",
     .order_words = "total time",
     .rows = 8,
     .columns = kStatFileColumns,
     .add_notes = note_stat_files},
    {.name = "process",
     .title = "Processes",
     .view = "sum_processes",
     .layer_phrase = ", seen at layer ",
     .sql = kStatProcessesSql,
     .order = "total_ns DESC, operations DESC, pid",
     .order_words = "total time",
     .rows = 8,
     .columns = kStatProcessColumns,
     .add_notes = note_stat_processes},
    {.name = "device",
     .title = "Devices",
     .view = "sum_devices",
     .sql = kStatDevicesSql,
     .order = "total_ns DESC, operations DESC, device",
     .order_words = "total time",
     .rows = 8,
     .columns = kStatDeviceColumns,
     .add_notes = note_stat_devices},
};

std::uint64_t counted(const store::Manifest& manifest, const schema::Counter& counter) {
  const auto found = manifest.counters.find(std::string(counter.name));
  return found == manifest.counters.end() ? 0 : found->second;
}

std::uint64_t counted(const store::Manifest& manifest, iot_counter counter) {
  return counted(manifest, *schema::find_counter(counter));
}

// Sources are counted when a recording ends.
std::string account_text(const store::Manifest& manifest) {
  if (manifest.sources.empty())
    return "how many events were added up, and how many lost, is not known";
  const std::uint64_t lost = manifest.lost();
  return fmt::format("{} events added up in {}, {}", human_count(manifest.summed_up()),
                     human_duration(manifest.end_ns - manifest.begin_ns),
                     lost == 0 ? "none lost" : fmt::format("{} LOST", human_count(lost)));
}

void print_header(const store::TraceReader& trace, Sink& sink, std::size_t width) {
  const store::Manifest& manifest = trace.manifest();
  print_wrapped(fmt::format("{}: {}",
                            printable(manifest.command.empty()
                                          ? std::string("stat")
                                          : fmt::format("{}", fmt::join(manifest.command, " "))),
                            account_text(manifest)),
                sink, width);
  for (const schema::Counter& counter : schema::kCounters)
    if (const std::uint64_t lost = counted(manifest, counter);
        lost != 0 && counter.severity == schema::Severity::loss)
      print_wrapped(fmt::format("  {} {}: {}", human_count(lost), counter.name, counter.doc), sink,
                    width);
  if (const std::uint64_t left_out = counted(manifest, IOT_COUNTER_kernel_pseudo_left_out))
    print_wrapped(fmt::format("  {} on pseudo file systems (/proc, /sys and the like) left out: "
                              "--pseudo records them",
                              human_count_of(left_out, "operation")),
                  sink, width);
  if (const std::uint64_t others = counted(manifest, IOT_COUNTER_kernel_sum_others); others != 0)
    print_wrapped(fmt::format("{} events found no row in the table of sums: they are in their "
                              "operations, but in no file, process or device; see --rows",
                              human_count(others)),
                  sink, width);
  for (const std::string& sentence : warning_sentences(trace))
    print_wrapped(sentence, sink, width);
  if (const std::string refusals = refusals_text(manifest); !refusals.empty())
    print_wrapped(printable(refusals), sink, width);
}

// What came in an interval of one operation.
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

// 99 of 100 took at most so long.
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
  const std::uint64_t stands_for = sample.stands_for(layer);
  const auto rate = [&](std::uint64_t number) {
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(scaled(number, stands_for)) / seconds));
  };
  const auto mark = [&](std::uint64_t number) { return estimate_mark(number, stands_for); };
  const auto rate_text = [&](std::uint64_t number) { // what is seldom is not said to be none
    const std::uint64_t of_second = rate(number);
    return mark(number) + (of_second == 0 && number != 0 ? "< 1" : human_count(of_second));
  };
  const bool has_time = line.first->below_ns != 0;
  const auto duration = [&](std::uint64_t ns) {
    return has_time ? human_duration(ns) : std::string("-");
  };
  const std::string errors = line.errors == 0 ? "-" : rate_text(line.errors);
  const std::string bytes =
      line.bytes == 0 ? "-" : mark(line.bytes) + human_bytes(rate(line.bytes)) + "/s";
  return fmt::format(kStatLine, layer, line.first->operation.substr(0, 14), rate_text(line.events),
                     bytes, duration(line.duration_ns / std::max<std::uint64_t>(1, line.events)),
                     duration(p99_ns(line)), duration(line.max_ns), errors);
}

} // namespace

Result<void> check_stat_table(const std::string& by) {
  if (by.empty() || std::ranges::find(kStatSections, by, &Section::name) != std::end(kStatSections))
    return {};
  return fail_usage(fmt::format("--by: there is no table by '{}'", by),
                    "the tables are by operation, file, process and device");
}

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

bool has_sums(const store::TraceReader& trace) {
  return trace.has_rows(rows::kind_of<rows::event_sums>);
}

Result<void> write_stat(analysis::Engine& engine, const StatOptions& options, std::FILE* file) {
  Sink sink(file);
  std::vector<std::pair<const Section*, SmallResult>> answers;
  for (const Section& section : kStatSections) {
    if (!options.by.empty() && section.name != options.by)
      continue;
    SectionOptions shown{.rows = options.rows};
    if (shown.rows == 0 && !options.by.empty())
      shown.rows = kRowsOfOneStatTable;
    auto rows = SmallResult::query(engine, section_sql(section, shown));
    if (!rows)
      return std::unexpected(rows.error());
    if (has_text(section, *rows))
      answers.emplace_back(&section, std::move(*rows));
  }
  // Damage comes first on paper, and is known only when everything was read.
  const store::TraceReader& trace = engine.trace();
  print_header(trace, sink, options.width);
  for (const auto& [section, rows] : answers) {
    sink.put('\n');
    print_section(*section, {}, rows, trace, sink, options.width);
  }
  return sink.finish();
}

} // namespace iotrail::output
