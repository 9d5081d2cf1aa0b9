// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <optional>

#include "capture/selection/filter_conflicts.hpp"
#include "capture/session/foreground.hpp"
#include "capture/sources/sources.hpp"
#include "cli/exit.hpp"
#include "cli/messages.hpp"
#include "cli/options/operation_options.hpp"
#include "cli/options/parse_units.hpp"
#include "cli/options/snapshot_options.hpp"
#include "cli/options/target.hpp"
#include "cli/options/threshold_options.hpp"
#include "cli/options/trace_options.hpp"
#include "cli/record_messages.hpp"
#include "cli/summary_output.hpp"
#include "cli/verb.hpp"
#include "report/documents/recording.hpp"
#include "serve/metrics/live_metrics.hpp"
#include "store/reader/repository.hpp"
#include "store/reader/trace_reader.hpp"
#include "trail/trails.hpp"

namespace iotrail::cli {
namespace {

struct RecordOptions {
  std::string output;
  Target target;
  ThresholdOptions thresholds;
  std::vector<std::string> snapshots;
  std::vector<std::string> tags;
  std::string time;
  std::string size;
  std::string buffer;
  SummaryOptions summary;
  bool quiet = false;
  bool verbose = false;
  bool strict = false;
  bool follow = false;
  bool no_arguments = false;
  bool shows_metrics = false;
  std::string metrics; // the address; empty: any free port
};

Result<std::uint64_t> parse_buffer(const std::string& text) {
  constexpr std::uint64_t kLeast = 64U << 10U;
  constexpr std::uint64_t kMost = 1U << 30U;
  const auto bytes = parse_size("--buffer", text);
  if (!bytes || *bytes == 0 || (*bytes >= kLeast && *bytes <= kMost))
    return bytes;
  return fail_usage(fmt::format("--buffer {}", text), "a ring has from 64K to 1G");
}

std::vector<std::string> limits_text(const RecordOptions& options) {
  std::vector<std::string> words;
  if (!options.time.empty())
    words.push_back("--time " + options.time);
  if (!options.size.empty())
    words.push_back("--size " + options.size);
  return words;
}

std::vector<std::string> filters_text(const RecordOptions& options) {
  std::vector<std::string> words = filters_text(options.target);
  std::ranges::copy(filters_text(options.thresholds), std::back_inserter(words));
  for (const std::string& snapshot : options.snapshots)
    words.push_back("--snapshot " + snapshot);
  return words;
}

Result<capture::Filter> filter_of(const RecordOptions& options, const Trailing& command) {
  auto filter = make_filter(options.target, command, "record");
  if (!filter)
    return filter;
  if (Result<void> checked = check_operations(*filter); !checked)
    return std::unexpected(checked.error());
  if (Result<void> selected = select_thresholds(options.thresholds, *filter); !selected)
    return std::unexpected(selected.error());
  if (Result<void> checked = check_conflicts(*filter); !checked)
    return std::unexpected(checked.error());
  if (!options.snapshots.empty() || !filter->machines.empty())
    filter->layers.push_back(schema::Layer::snapshot);
  return filter;
}

Result<capture::RecordingRequest> request_of(const RecordOptions& options,
                                             const Trailing& command) {
  auto filter = filter_of(options, command);
  if (!filter)
    return std::unexpected(filter.error());
  auto tags = parse_tags(options.tags);
  if (!tags)
    return std::unexpected(tags.error());
  const auto buffer_bytes = parse_buffer(options.buffer);
  if (!buffer_bytes)
    return std::unexpected(buffer_bytes.error());
  const auto size_bytes = parse_size("--size", options.size);
  if (!size_bytes)
    return std::unexpected(size_bytes.error());
  const auto time_ns = parse_duration("--time", options.time);
  if (!time_ns)
    return std::unexpected(time_ns.error());
  if (Result<void> checked = check_output(options.output); !checked)
    return std::unexpected(checked.error());
  auto snapshot = parse_snapshots("--snapshot", options.snapshots, ".");
  if (!snapshot)
    return std::unexpected(snapshot.error());
  return capture::RecordingRequest{
      .command = command,
      .filter = std::move(*filter),
      .drop_arguments = options.no_arguments,
      .follow = options.follow,
      .limits = {.time_ns = *time_ns, .size_bytes = *size_bytes},
      .ring_bytes = *buffer_bytes,
      .snapshot = std::move(*snapshot),
      .aggregation = {},
      .mount = {},
      .trace = store::new_trace_path(options.output, trace_name(options.target, command)),
      .tags = std::move(*tags)};
}

// The recorder has run the command, so its status is the command's: a script may be wrapped unchanged.
int exit_status(const capture::ForegroundOutcome& end, const RecordOptions& options,
                const Trailing& command) {
  if (options.strict && (end.failure || end.manifest.lost() + end.manifest.gaps() != 0))
    return static_cast<int>(Exit::losses);
  if (end.command_status)
    return *end.command_status;
  if (end.failure)
    return static_cast<int>(exit_of(*end.failure));
  if (command.empty())
    return static_cast<int>(Exit::ok);
  return 128 + end.stop_signal;
}

// With more events, finding the causes would delay the summary too long.
constexpr std::uint64_t kEventsToExplain = 2'000'000;

// How much of what the devices did has a cause.
std::optional<trail::CompletedBytes> completed_bytes(const store::Manifest& manifest,
                                                     const std::filesystem::path& path) {
  const auto completed = manifest.counts.find("block_complete");
  if (completed == manifest.counts.end() || completed->second == 0 ||
      manifest.events() > kEventsToExplain)
    return std::nullopt;
  const auto trace = store::TraceReader::open(path);
  if (!trace)
    return std::nullopt; // the trace is written; the verb that reads it reports the error
  return trail::sum_completed(trail::find_trails(**trace));
}

output::Document summary_of(const store::Manifest& manifest,
                            const capture::RecordingRequest& request,
                            const RecordOptions& options) {
  output::RecordingSummary summary{.trace = request.trace,
                                   .is_full = options.verbose || options.summary.json};
  if (summary.is_full) {
    summary.left_out = events_not_asked_for(options.target.events, request.filter);
    summary.devices = completed_bytes(manifest, request.trace);
  }
  return output::make_recording_summary(manifest, summary);
}

// A summary on a closed standard error is no failure: what it reports has been done.
Result<void> print_end(const Console& console, const capture::ForegroundOutcome& end,
                       const capture::RecordingRequest& request, const RecordOptions& options,
                       SummaryOutput& output) {
  if (end.failure)
    print_if_open(console.err, [&] { print_failure(console.err, *end.failure); });
  else if (options.quiet)
    print_if_open(console.err, [&] { print_warnings_of(console.err, end.manifest); });
  else if (const Result<void> printed =
               output.finish(summary_of(end.manifest, request, options),
                             options.summary.json ? DocumentFormat::json : DocumentFormat::text);
           !printed && output.is_file())
    return printed;
  return {};
}

// nullptr: not asked for
Result<std::unique_ptr<serve::LiveMetrics>> open_metrics(const RecordOptions& options,
                                                         capture::RecorderOptions& recorder) {
  if (!options.shows_metrics)
    return nullptr;
  auto metrics = serve::LiveMetrics::listen(options.metrics);
  if (metrics) {
    recorder.observer = (*metrics)->observer();
    recorder.on_sample = [shown = metrics->get()](const store::Manifest& now) { shown->show(now); };
  }
  return metrics;
}

void start_metrics(const Console& console, serve::LiveMetrics& metrics,
                   const store::Manifest& manifest) {
  metrics.show(manifest);
  const Result<void> started = metrics.start();
  print_if_open(console.err, [&] {
    print_message(console.err, started ? "iotrail: metrics: " + metrics.url()
                                       : "iotrail: no metrics: " + started.error().line());
  });
}

Result<int> record(const Console& console, const RecordOptions& options, const Trailing& command) {
  const Result<capture::RecordingRequest> request = request_of(options, command);
  if (!request)
    return std::unexpected(request.error());
  auto output = SummaryOutput::open(console.err, options.summary);
  if (!output)
    return std::unexpected(output.error());
  capture::RecorderOptions recorder = capture::recorder_options(*request);
  recorder.filters_text = filters_text(options);
  recorder.limits_text = limits_text(options);
  auto metrics = open_metrics(options, recorder);
  if (!metrics)
    return std::unexpected(metrics.error());
  if (!command.empty() && capture::needs_source(*request, IOT_source_preload))
    warn_of_blocker(console.err, command);
  warn_of_loop_devices(console.err, request->filter, !command.empty());
  const auto on_begin = [&](const store::Manifest& manifest, const auto& refusals) {
    print_if_open(console.err, [&] { print_begin(console.err, command.empty(), refusals); });
    if (*metrics)
      start_metrics(console, **metrics, manifest);
  };
  auto end = capture::record_in_foreground(recorder, capture::make_sources(*request), on_begin,
                                           request->follow ? capture::Until::all_end
                                                           : capture::Until::they_end,
                                           [&] { print_disk_wait(console.err); });
  if (!end)
    return std::unexpected(end.error());
  if (const Result<void> printed = print_end(console, *end, *request, options, *output); !printed)
    return std::unexpected(printed.error());
  return exit_status(*end, options, command);
}

Action declare_record(CLI::App& app, const Trailing& trailing) {
  auto options = std::make_shared<RecordOptions>();
  app.option_defaults()->group("The trace");
  app.add_option("-o,--output", options->output,
                 "Name of the trace in the repository, or a path (with a `/`, or ending in "
                 ".iotrail); default: command and time")
      ->type_name("NAME");
  declare_target(app, options->target);
  declare_thresholds(app, options->thresholds);
  app.option_defaults()->group("The recording");
  app.add_flag(
      "--follow", options->follow,
      "Continue until every process that was started has ended; Ctrl-C or --time stop earlier");
  app.add_option("--snapshot", options->snapshots,
                 "Take snapshots too: of process, system, fs (files below the current directory) "
                 "or fs=PATH; once, or every PERIOD; may be repeated")
      ->type_name("KIND[=PATH][:PERIOD]");
  app.add_option("--time", options->time,
                 "Stop recording after this time (10s, 500ms, 2m); the command continues")
      ->type_name("TIME");
  app.add_option("--size", options->size,
                 "Stop recording at this size of the trace (64M, 2G), as `list` shows it; events "
                 "in the rings are still written")
      ->type_name("SIZE");
  app.add_option(
         "--buffer", options->buffer,
         "Size of each ring, one a CPU and one a thread (1M); larger rings absorb longer bursts")
      ->type_name("SIZE");
  app.add_option_function<std::string>(
         "--metrics",
         [options](const std::string& address) {
           options->shows_metrics = true;
           options->metrics = address;
         },
         "Show numbers of the recording to Prometheus while it runs, by HTTP on this machine: "
         "PORT or 127.0.0.1:PORT; without it a free port, which is printed")
      ->expected(0, 1)
      ->type_name("[ADDRESS]");
  app.add_option("--tag", options->tags, "NAME=VALUE to store with the trace; may be repeated")
      ->type_name("NAME=VALUE");
  declare_no_arguments(app, options->no_arguments);
  app.add_flag("--strict", options->strict,
               "Exit with status 3 if any event was or may have been lost");
  app.option_defaults()->group("The summary");
  CLI::Option* quiet =
      app.add_flag("-q,--quiet", options->quiet, "Print no summary; losses are reported anyway");
  CLI::Option* verbose = app.add_flag("-v,--verbose", options->verbose,
                                      "Events by layer, losses by source, what was left out and "
                                      "why, the cost of the recording");
  declare_summary(app, options->summary);
  quiet->excludes(verbose)
      ->excludes(app.get_option("--json"))
      ->excludes(app.get_option("--summary"));
  app.footer("The exit status is the command's own; it is 1 if the file of --summary could not be "
             "written.");
  return
      [options, &trailing](const Console& console) { return record(console, *options, trailing); };
}

} // namespace

extern const Verb kVerbRecord = {
    .name = "record",
    .summary = "Record the I/O of a command or of running processes",
    .group = Group::record,
    .rank = 0,
    .declare = declare_record,
    .takes_command = true,
    .examples = "  iotrail record -- make -j8            # a command, on all default layers\n"
                "  iotrail record -p 1234 --time 30s     # a running process, for 30 seconds\n"
                "  iotrail record --layers syscall,cache,block -o db -- ./db\n"
                "  iotrail record --min-latency 10ms -- ./db\n",
};

} // namespace iotrail::cli
