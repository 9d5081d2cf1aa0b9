// SPDX-License-Identifier: BSD-3-Clause
#include "output/report_text.hpp"

#include <algorithm>
#include <optional>

#include "analysis/decode.hpp"
#include "output/report_summary.hpp"
#include "output/table.hpp"
#include "output/units.hpp"

namespace iotrail::output {

namespace {

// The tables of the report, all queried before anything is printed: losses and damage come first on paper, and damage
// is known only when everything has been read.
struct Findings {
  SmallResult layers;
  SmallResult amplification;
  SmallResult files;
  SmallResult processes;
  SmallResult slowest;
  SmallResult losses;
};

constexpr std::string_view kLayersSql =
    "SELECT * FROM layers ORDER BY layer, operations DESC, class";
constexpr std::string_view kAmplificationSql =
    "SELECT * FROM amplification ORDER BY direction DESC, step";
constexpr std::string_view kFilesSql =
    "SELECT *, CASE file WHEN 0 THEN '(no known file)' ELSE path END AS name FROM top_files "
    "WHERE file <> 0 OR device_bytes_read + device_bytes_written > 0 "
    "ORDER BY greatest(bytes_read + bytes_written,"
    " coalesce(device_bytes_read + device_bytes_written, 0)) DESC,"
    " coalesce(cache_bytes_added + cache_bytes_dirtied, 0) DESC, total_ns DESC, name LIMIT 10";
constexpr std::string_view kProcessesSql = "SELECT * FROM top_processes ORDER BY bytes_read + "
                                           "bytes_written DESC, total_ns DESC, pid LIMIT 10";
constexpr std::string_view kSlowestSql =
    "SELECT * FROM slowest ORDER BY layer, duration_ns DESC, ts_ns";
constexpr std::string_view kLossesSql =
    "SELECT * FROM loss_totals ORDER BY severity = 'loss' DESC, severity, events DESC, counter";

constexpr std::size_t kSlowestPerLayer = 5;

Result<Findings> find(analysis::Engine& engine) {
  Findings findings;
  const std::pair<SmallResult*, std::string_view> queries[] = {
      {&findings.layers, kLayersSql},   {&findings.amplification, kAmplificationSql},
      {&findings.files, kFilesSql},     {&findings.processes, kProcessesSql},
      {&findings.slowest, kSlowestSql}, {&findings.losses, kLossesSql},
  };
  for (const auto& [result, sql] : queries) {
    auto answer = SmallResult::query(engine, sql);
    if (!answer)
      return std::unexpected(answer.error());
    *result = std::move(*answer);
  }
  return findings;
}

std::string bytes_or_dash(const SmallResult& result, std::size_t row, std::string_view column) {
  return result.is_null(row, column) ? "-" : human_bytes(result.number(row, column));
}

std::string duration_or_dash(const SmallResult& result, std::size_t row, std::string_view column) {
  return result.is_null(row, column) ? "-" : human_duration(result.number(row, column));
}

std::string count_or_dash(std::uint64_t count) {
  return count == 0 ? "-" : human_count(count);
}

// Rows of one layer, in the order of layers on the way down, layers of later versions at the end.
std::vector<std::size_t> down_the_layers(const SmallResult& result) {
  const auto depth = [&](std::size_t row) {
    const std::string layer = result.text(row, "layer");
    return std::ranges::find(schema::kLayers, layer, &schema::LayerInfo::name) -
           std::begin(schema::kLayers);
  };
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < result.size(); ++row)
    rows.push_back(row);
  std::ranges::stable_sort(rows, {}, depth);
  return rows;
}

void print_layers(const SmallResult& layers, Sink& sink) {
  TextTable table({{"layer", Align::left},
                   {"operation", Align::left},
                   {"count", Align::right},
                   {"bytes", Align::right},
                   {"errors", Align::right},
                   {"mean", Align::right},
                   {"p50", Align::right},
                   {"p99", Align::right},
                   {"max", Align::right}});
  std::string previous;
  for (const std::size_t row : down_the_layers(layers)) {
    const std::string layer = layers.text(row, "layer");
    table.add({layer == previous ? "" : layer, layers.text(row, "class"),
               human_count(layers.number(row, "operations")), bytes_or_dash(layers, row, "bytes"),
               count_or_dash(layers.number(row, "errors")),
               duration_or_dash(layers, row, "mean_ns"), duration_or_dash(layers, row, "p50_ns"),
               duration_or_dash(layers, row, "p99_ns"), duration_or_dash(layers, row, "max_ns")});
    previous = layer;
  }
  sink.put("\nOperations, layer by layer\n");
  if (table.is_empty())
    sink.put("  none\n");
  else
    table.print(sink, "  ");
}

void print_other_bytes(const SmallResult& amplification, Sink& sink) {
  std::string text;
  for (std::size_t row = 0; row < amplification.size(); ++row)
    if (amplification.number(row, "other_bytes") > 0)
      text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", amplification.text(row, "layer"),
                          amplification.text(row, "direction"),
                          human_bytes(amplification.number(row, "other_bytes")));
  if (!text.empty())
    sink.print("  not counted here (pipes, sockets, terminals, /proc, /sys): {}\n", text);
}

void print_amplification(const SmallResult& amplification, bool is_damaged, Sink& sink) {
  TextTable table({{"", Align::left},
                   {"layer", Align::left},
                   {"count", Align::right},
                   {"bytes", Align::right},
                   {"to the layer above", Align::right},
                   {"why", Align::left}});
  std::string previous;
  for (std::size_t row = 0; row < amplification.size(); ++row) {
    const std::string direction = amplification.text(row, "direction");
    table.add({direction == previous ? "" : direction, amplification.text(row, "layer"),
               human_count(amplification.number(row, "operations")),
               bytes_or_dash(amplification, row, "bytes"),
               amplification.is_null(row, "ratio")
                   ? "-"
                   : fmt::format("x {:.2f}", amplification.real(row, "ratio")),
               amplification.text(row, "explanation")});
    previous = direction;
  }
  if (table.is_empty())
    return;
  sink.put("\nBytes of files on their way down\n");
  table.print(sink, "  ");
  print_other_bytes(amplification, sink);
  if (is_damaged)
    sink.put("  the bytes of damaged blocks are missing here: see Losses before the reasons\n");
}

bool any_known(const SmallResult& result, std::string_view column) {
  for (std::size_t row = 0; row < result.size(); ++row)
    if (!result.is_null(row, column))
      return true;
  return false;
}

// Mapped files of which no page went to or came from a device while the recording ran.
bool any_moved_in_cache_only(const SmallResult& files) {
  for (std::size_t row = 0; row < files.size(); ++row)
    if (files.number(row, "bytes_read") + files.number(row, "bytes_written") +
                files.number(row, "device_bytes_read") +
                files.number(row, "device_bytes_written") ==
            0 &&
        files.number(row, "cache_bytes_added") + files.number(row, "cache_bytes_dirtied") > 0)
      return true;
  return false;
}

void print_files(const SmallResult& files, Sink& sink) {
  if (files.size() == 0)
    return;
  const bool has_devices = any_known(files, "device_bytes_written");
  const bool has_cache = any_moved_in_cache_only(files);
  std::vector<TextTable::Column> columns = {{"read", Align::right},   {"written", Align::right},
                                            {"calls", Align::right},  {"syncs", Align::right},
                                            {"errors", Align::right}, {"time", Align::right}};
  if (has_devices)
    columns.insert(columns.end(), {{"dev. read", Align::right}, {"dev. written", Align::right}});
  if (has_cache)
    columns.insert(columns.end(), {{"cache added", Align::right}, {"dirtied", Align::right}});
  columns.push_back({"file", Align::left});
  TextTable table(columns);
  for (std::size_t row = 0; row < files.size(); ++row) {
    std::vector<std::string> cells = {
        bytes_or_dash(files, row, "bytes_read"),        bytes_or_dash(files, row, "bytes_written"),
        count_or_dash(files.number(row, "operations")), count_or_dash(files.number(row, "syncs")),
        count_or_dash(files.number(row, "errors")),     duration_or_dash(files, row, "total_ns")};
    if (has_devices)
      cells.insert(cells.end(), {bytes_or_dash(files, row, "device_bytes_read"),
                                 bytes_or_dash(files, row, "device_bytes_written")});
    if (has_cache)
      cells.insert(cells.end(), {bytes_or_dash(files, row, "cache_bytes_added"),
                                 bytes_or_dash(files, row, "cache_bytes_dirtied")});
    cells.push_back(files.text(row, "name"));
    table.add(std::move(cells));
  }
  const std::string layer = files.text(0, "layer");
  sink.print("\nFiles with most bytes{}{}\n", layer.empty() ? "" : ", calls seen at layer ", layer);
  table.print(sink, "  ");
}

void print_processes(const SmallResult& processes, Sink& sink) {
  if (processes.size() == 0)
    return;
  TextTable table({{"pid", Align::right},
                   {"name", Align::left},
                   {"threads", Align::right},
                   {"read", Align::right},
                   {"written", Align::right},
                   {"calls", Align::right},
                   {"syncs", Align::right},
                   {"errors", Align::right},
                   {"time", Align::right},
                   {"command", Align::left}});
  constexpr std::size_t kCommandChars = 60;
  for (std::size_t row = 0; row < processes.size(); ++row) {
    std::string command = processes.text(row, "command");
    if (command.size() > kCommandChars)
      command = command.substr(0, kCommandChars) + "...";
    table.add({processes.text(row, "pid"), processes.text(row, "comm"),
               human_count(processes.number(row, "threads")),
               bytes_or_dash(processes, row, "bytes_read"),
               bytes_or_dash(processes, row, "bytes_written"),
               human_count(processes.number(row, "operations")),
               count_or_dash(processes.number(row, "syncs")),
               count_or_dash(processes.number(row, "errors")),
               duration_or_dash(processes, row, "total_ns"), command});
  }
  sink.print("\nProcesses with most bytes, seen at layer {}\n", processes.text(0, "layer"));
  table.print(sink, "  ");
}

std::string outcome(const SmallResult& slowest, std::size_t row) {
  const std::string error = slowest.text(row, "error");
  if (error != "0")
    return analysis::errno_name(std::strtoll(error.c_str(), nullptr, 10));
  return bytes_or_dash(slowest, row, "bytes");
}

std::string process_text(const std::string& comm, const std::string& pid) {
  return comm.empty() ? pid : fmt::format("{}[{}]", comm, pid);
}

void print_slowest(const SmallResult& slowest, std::uint64_t begin_ns, Sink& sink) {
  TextTable table({{"layer", Align::left},
                   {"took", Align::right},
                   {"at second", Align::right},
                   {"call", Align::left},
                   {"result", Align::right},
                   {"process", Align::left},
                   {"file", Align::left}});
  std::string previous;
  std::size_t shown = 0;
  for (const std::size_t row : down_the_layers(slowest)) {
    const std::string layer = slowest.text(row, "layer");
    shown = layer == previous ? shown + 1 : 1;
    if (shown > kSlowestPerLayer)
      continue;
    const std::uint64_t ts_ns = slowest.number(row, "ts_ns");
    const std::string call = slowest.text(row, "call");
    table.add({layer == previous ? "" : layer, human_duration(slowest.number(row, "duration_ns")),
               fmt::format("{:.6f}",
                           ts_ns > begin_ns ? static_cast<double>(ts_ns - begin_ns) / 1e9 : 0.0),
               call.empty() ? slowest.text(row, "class") : call, outcome(slowest, row),
               process_text(slowest.text(row, "comm"), slowest.text(row, "pid")),
               slowest.text(row, "path")});
    previous = layer;
  }
  if (table.is_empty())
    return;
  sink.put("\nSlowest operations, but for those on pipes, sockets, terminals, /proc, /sys\n");
  table.print(sink, "  ");
}

} // namespace

Result<void> write_report(analysis::Engine& engine, std::FILE* file) {
  const auto findings = find(engine);
  if (!findings)
    return std::unexpected(findings.error());
  const store::TraceReader& trace = engine.trace();
  Sink sink(file);
  print_trace_header(trace, sink);
  print_losses(trace, findings->losses, sink);
  print_refusals(trace.manifest(), sink);
  print_layers(findings->layers, sink);
  print_amplification(findings->amplification, trace.damage().any(), sink);
  print_files(findings->files, sink);
  print_processes(findings->processes, sink);
  print_slowest(findings->slowest, trace.manifest().begin_ns, sink);
  return sink.finish();
}

} // namespace iotrail::output
