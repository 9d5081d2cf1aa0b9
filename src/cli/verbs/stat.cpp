// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/engine/engine.hpp"
#include "base/clock.hpp"
#include "capture/selection/filter_conflicts.hpp"
#include "capture/session/foreground.hpp"
#include "capture/sources/sources.hpp"
#include "cli/exit.hpp"
#include "cli/messages.hpp"
#include "cli/options/operation_options.hpp"
#include "cli/options/parse_units.hpp"
#include "cli/options/target.hpp"
#include "cli/options/threshold_options.hpp"
#include "cli/options/trace_options.hpp"
#include "cli/record_messages.hpp"
#include "cli/summary_output.hpp"
#include "cli/verb.hpp"
#include "render/json/json.hpp"
#include "render/text/stat_interval.hpp"
#include "report/documents/stat_interval.hpp"
#include "report/sample.hpp"
#include "report/stat.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::cli {
namespace {

constexpr std::uint64_t kUsualIntervalNs = 10'000'000'000; // where no other is asked for
constexpr std::uint64_t kLeastIntervalNs = 100'000'000;
constexpr std::ptrdiff_t kLinesBelowTitle = 20; // so that one is to be seen on a terminal

struct StatOptions {
  std::string output;
  Target target;
  ThresholdOptions thresholds;
  std::string interval;
  std::string by;
  std::string top;
  std::string time;
  std::string rows;
  std::vector<std::string> tags;
  SummaryOptions summary;
  bool follow = false;
  bool no_arguments = false;
};

// Removes its trace with it; for a trace that the user did not ask to keep.
class TemporaryDirectory {
public:
  static Result<TemporaryDirectory> make() {
    std::error_code code;
    std::string path = std::filesystem::temp_directory_path(code) / "iotrail-stat-XXXXXX";
    if (code)
      return fail_errno("cannot make a temporary directory", code.value(),
                        "set TMPDIR, or name a trace with -o");
    if (::mkdtemp(path.data()) == nullptr)
      return fail_errno(fmt::format("cannot make a directory like {}", path));
    return TemporaryDirectory(path);
  }
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty())
      std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// The kernel's layers only: what happens inside programs does not pass its table.
Result<void> leave_out_app(const Target& target, std::vector<schema::Layer>& layers) {
  const bool is_named =
      std::ranges::find(target.events.layers, schema::layer_name(IOT_LAYER_app)) !=
          target.events.layers.end() ||
      std::ranges::any_of(target.events.events, [](const std::string& name) {
        const schema::Event* event = schema::find_event(name);
        return event != nullptr && event->layer == schema::Layer::app;
      });
  if (is_named)
    return fail_usage("stat: the layer app is not added up",
                      "its events arise in the programs, not in the kernel",
                      "`iotrail record --layers app` records them; `report` adds them up.");
  std::erase(layers, schema::Layer::app);
  return {};
}

Result<std::uint64_t> parse_interval(const std::string& text) {
  const auto interval_ns = parse_duration("--interval", text);
  if (!interval_ns || text.empty() || *interval_ns >= kLeastIntervalNs)
    return interval_ns;
  return fail_usage(fmt::format("--interval {}", text), "the shortest is 100ms");
}

// A reader that pauses may not hold the recording up.
bool takes_text(int fd) {
  pollfd waiting{fd, POLLOUT, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

// Prints the sums of each interval.
class IntervalPrinter {
public:
  IntervalPrinter(std::FILE* file, output::Sample sample, bool is_json)
      : file_(file), sample_(sample), is_json_(is_json) {}

  void begin(std::uint64_t begin_ns) { begin_ns_ = from_ns_ = begin_ns; }
  // An interval without rows ends now.
  void print(std::span<const rows::event_sums> sums) {
    const std::uint64_t to_ns =
        sums.empty() ? monotonic_ns() : std::ranges::max(sums, {}, &rows::event_sums::to_ns).to_ns;
    const output::Span interval{std::exchange(from_ns_, to_ns), to_ns};
    if (!takes_text(::fileno(file_))) {
      ++missed_;
      return;
    }
    output::Document document = output::make_interval(sums, interval, begin_ns_, sample_);
    if (const std::uint64_t missed = std::exchange(missed_, 0); missed != 0)
      document.warnings.push_back(
          output::sentence(fmt::format("{{missed}} interval{} not shown: the output was not read",
                                       missed == 1 ? " is" : "s are"),
                           {output::count_value("missed", missed)}));
    const std::string text = is_json_ ? output::json_line(document) : text_of(document);
    std::fputs(text.c_str(), file_);
    std::fflush(file_);
  }

private:
  std::string text_of(const output::Document& document) {
    const bool with_title = lines_below_title_ >= kLinesBelowTitle;
    std::string text = output::interval_text(document, with_title);
    lines_below_title_ = (with_title ? 0 : lines_below_title_) + std::ranges::count(text, '\n');
    return text;
  }

  std::FILE* file_;
  output::Sample sample_;
  bool is_json_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t from_ns_ = 0; // begin of the interval
  std::uint64_t missed_ = 0;
  std::ptrdiff_t lines_below_title_ = kLinesBelowTitle;
};

// The trace has no name yet.
Result<capture::RecordingRequest> request_of(const StatOptions& options, const Trailing& command) {
  auto filter = make_filter(options.target, command, "stat");
  if (!filter)
    return std::unexpected(filter.error());
  if (Result<void> checked = leave_out_app(options.target, filter->layers); !checked)
    return std::unexpected(checked.error());
  if (Result<void> checked = check_operations(*filter); !checked)
    return std::unexpected(checked.error());
  if (auto selected = select_min_latency(options.thresholds, options.target.events, *filter);
      !selected)
    return std::unexpected(selected.error());
  if (Result<void> checked = check_conflicts(*filter); !checked)
    return std::unexpected(checked.error());
  auto tags = parse_tags(options.tags);
  if (!tags)
    return std::unexpected(tags.error());
  const auto time_ns = parse_duration("--time", options.time);
  if (!time_ns)
    return std::unexpected(time_ns.error());
  const auto interval_ns = parse_interval(options.interval);
  if (!interval_ns)
    return std::unexpected(interval_ns.error());
  const auto rows = parse_count("--rows", options.rows);
  if (!rows)
    return std::unexpected(rows.error());
  if (Result<void> checked = check_output(options.output); !checked)
    return std::unexpected(checked.error());
  capture::RecordingRequest request;
  request.command = command;
  request.filter = std::move(*filter);
  request.drop_arguments = options.no_arguments;
  request.follow = options.follow;
  request.limits.time_ns = *time_ns;
  request.aggregation = {.interval_ns = *interval_ns == 0 ? kUsualIntervalNs : *interval_ns,
                         .rows = *rows};
  request.tags = std::move(*tags);
  return request;
}

// The tables. A trace that is kept is named, with the command that shows them again.
Result<output::Document> stat_document(const std::filesystem::path& trace, bool is_kept,
                                       const output::StatOptions& options) {
  auto engine = analysis::Engine::open(trace, {});
  if (!engine)
    return std::unexpected(engine.error());
  auto document = output::make_stat(**engine, options);
  if (!document)
    return document;
  if (is_kept)
    document->closing.push_back(output::command_on("iotrail report {}", trace));
  else
    document->trace.clear();
  return document;
}

int exit_status(const capture::ForegroundOutcome& end, const Trailing& command) {
  if (end.command_status)
    return *end.command_status;
  if (end.failure)
    return static_cast<int>(exit_of(*end.failure));
  return command.empty() ? static_cast<int>(Exit::ok) : 128 + end.stop_signal;
}

Result<output::StatOptions> output_of(const StatOptions& options) {
  if (Result<void> checked = output::check_stat_table(options.by); !checked)
    return std::unexpected(checked.error());
  const auto top = parse_count("--top", options.top);
  if (!top)
    return std::unexpected(top.error());
  return output::StatOptions{.by = options.by, .rows = *top};
}

capture::RecorderOptions recorder_of(const capture::RecordingRequest& request,
                                     const StatOptions& options) {
  capture::RecorderOptions recorder = capture::recorder_options(request);
  recorder.filters_text = filters_text(options.target);
  std::ranges::copy(filters_text(options.thresholds), std::back_inserter(recorder.filters_text));
  if (!options.time.empty())
    recorder.limits_text.push_back("--time " + options.time);
  return recorder;
}

// The last of several JSON documents is a line too.
DocumentFormat format_of(const StatOptions& options) {
  if (!options.summary.json)
    return DocumentFormat::text;
  return options.interval.empty() ? DocumentFormat::json : DocumentFormat::json_line;
}

Result<int> stat(const Console& console, const StatOptions& options, const Trailing& command) {
  const auto shown = output_of(options);
  if (!shown)
    return std::unexpected(shown.error());
  auto request = request_of(options, command);
  if (!request)
    return std::unexpected(request.error());
  auto summary = SummaryOutput::open(console.err, options.summary);
  if (!summary)
    return std::unexpected(summary.error());
  std::optional<TemporaryDirectory> temporary;
  if (options.output.empty()) {
    auto made = TemporaryDirectory::make();
    if (!made)
      return std::unexpected(made.error());
    temporary.emplace(std::move(*made));
  }
  request->trace =
      temporary ? temporary->path() / "stat.iotrail" : store::new_trace_path(options.output, "");
  IntervalPrinter intervals(summary->stream().file, output::Sample(request->filter.sample_of),
                            options.summary.json);
  capture::RecorderOptions recorder = recorder_of(*request, options);
  if (!options.interval.empty())
    recorder.source.aggregates.on_interval = [&](std::span<const rows::event_sums> sums) {
      intervals.print(sums);
    };
  const auto on_begin = [&](const store::Manifest& manifest, const auto& refusals) {
    intervals.begin(manifest.begin_ns);
    print_if_open(console.err, [&] {
      print_begin(console.err, command.empty() && options.time.empty(), refusals);
    });
  };
  const auto end = capture::record_in_foreground(
      recorder, capture::make_sources(*request), on_begin,
      request->follow ? capture::Until::all_end : capture::Until::they_end,
      [&] { print_disk_wait(console.err); });
  if (!end)
    return std::unexpected(end.error());
  if (end->failure) {
    print_failure(console.err, *end->failure);
    return exit_status(*end, command);
  }
  const auto document = stat_document(request->trace, !temporary, *shown);
  if (!document)
    return std::unexpected(document.error());
  if (Result<void> printed = summary->finish(*document, format_of(options)); !printed)
    return std::unexpected(printed.error());
  temporary.reset(); // as long as no signal ends us
  return exit_status(*end, command);
}

Action declare_stat(CLI::App& app, const Trailing& trailing) {
  auto options = std::make_shared<StatOptions>();
  app.option_defaults()->group("Output");
  app.add_option("-o,--output", options->output,
                 "Keep the sums as a trace: its name in the repository, or a path")
      ->type_name("NAME");
  app.add_option("--interval", options->interval,
                 "Print rates by operation at each interval (1s, 500ms)")
      ->type_name("TIME");
  app.add_option("--by", options->by, "Print only one table: by operation, file, process or device")
      ->type_name("TABLE");
  app.add_option("--top", options->top, "Rows of each table")->type_name("COUNT");
  declare_summary(app, options->summary);
  declare_target(app, options->target);
  declare_min_latency(app, options->thresholds);
  app.option_defaults()->group("The recording");
  declare_no_arguments(app, options->no_arguments);
  app.add_flag("--follow", options->follow,
               "Continue until every process that was started has ended");
  app.add_option("--time", options->time,
                 "Stop after this time (10s, 500ms, 2m); the command continues")
      ->type_name("TIME");
  app.add_option("--rows", options->rows,
                 "Sums (of files, processes and so on) that the kernel holds at once; default: "
                 "131072 (16 MiB)")
      ->type_name("COUNT");
  app.add_option("--tag", options->tags, "NAME=VALUE to store with the trace; may be repeated")
      ->type_name("NAME=VALUE");
  app.footer("The exit status is the command's own. All layers but app are counted.");
  return [options, &trailing](const Console& console) { return stat(console, *options, trailing); };
}

} // namespace

extern const Verb kVerbStat = {
    .name = "stat",
    .summary = "Count the I/O of a command or of running processes, without writing events",
    .group = Group::record,
    .rank = 1,
    .declare = declare_stat,
    .takes_command = true,
    .examples = "  iotrail stat -- make -j8\n"
                "  iotrail stat --interval 1s -p 1234    # rates, every second\n"
                "  iotrail stat --system --time 10s --by device\n",
};

} // namespace iotrail::cli
