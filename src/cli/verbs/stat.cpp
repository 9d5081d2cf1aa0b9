// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/engine/engine.hpp"
#include "base/clock.hpp"
#include "base/shell_word.hpp"
#include "capture/kernel/kernel_source.hpp"
#include "capture/selection/filter_conflicts.hpp"
#include "capture/session/foreground.hpp"
#include "cli/exit.hpp"
#include "cli/messages.hpp"
#include "cli/options/amounts.hpp"
#include "cli/options/operation_options.hpp"
#include "cli/options/target.hpp"
#include "cli/options/trace_options.hpp"
#include "cli/print_document.hpp"
#include "cli/record_summary.hpp"
#include "cli/verb.hpp"
#include "render/text/stat_interval.hpp"
#include "report/sample.hpp"
#include "report/stat.hpp"
#include "store/reader/catalogue.hpp"
#include "text/printable.hpp"

namespace iotrail::cli {
namespace {

constexpr std::uint64_t kUsualIntervalNs = 10'000'000'000; // where no other is asked for
constexpr std::uint64_t kLeastIntervalNs = 100'000'000;
constexpr std::ptrdiff_t kLinesBelowTitle = 20; // so that one is to be seen on a terminal

struct StatRequest {
  std::string output;
  Target target;
  std::string interval;
  std::string by;
  std::string top;
  std::string time;
  std::string rows;
  std::vector<std::string> tags;
  bool follow = false;
};

// A directory that goes with its trace, where nobody asked to keep it.
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

// Lines as it goes; `begin_ns` is set by whom the recording tells that it has begun.
capture::AggregateOptions aggregate_options(std::FILE* err, std::uint64_t interval_ns,
                                            std::uint64_t rows, output::Sample sample,
                                            std::shared_ptr<std::uint64_t> begin_ns) {
  capture::AggregateOptions sums{.interval_ns = interval_ns == 0 ? kUsualIntervalNs : interval_ns,
                                 .rows = rows,
                                 .on_interval = {}};
  if (interval_ns != 0)
    sums.on_interval = [err, begin_ns = std::move(begin_ns), sample,
                        lines_below_title = kLinesBelowTitle,
                        missed = 0](std::span<const rows::event_sums> of_interval) mutable {
      if (!takes_text(::fileno(err))) {
        ++missed;
        return;
      }
      if (const int intervals = std::exchange(missed, 0); intervals != 0)
        fmt::print(err, "  {} interval{} not shown: nobody read\n", intervals,
                   intervals == 1 ? " is" : "s are");
      const bool with_title = lines_below_title >= kLinesBelowTitle;
      const std::string text = output::interval_text(of_interval, *begin_ns, sample, with_title);
      std::fputs(text.c_str(), err);
      if (with_title && !text.empty())
        lines_below_title = 0;
      lines_below_title += std::ranges::count(text, '\n');
    };
  return sums;
}

Result<capture::RecorderOptions> recorder_options(const StatRequest& request,
                                                  const Trailing& command) {
  auto filter = make_filter(request.target, command, "stat");
  if (!filter)
    return std::unexpected(filter.error());
  if (Result<void> checked = leave_out_app(request.target, filter->layers); !checked)
    return std::unexpected(checked.error());
  if (Result<void> checked = check_operations(*filter); !checked)
    return std::unexpected(checked.error());
  if (Result<void> checked = check_conflicts(*filter); !checked)
    return std::unexpected(checked.error());
  auto tags = parse_tags(request.tags);
  if (!tags)
    return std::unexpected(tags.error());
  const auto time_ns = parse_duration("--time", request.time);
  if (!time_ns)
    return std::unexpected(time_ns.error());
  if (Result<void> checked = check_output(request.output); !checked)
    return std::unexpected(checked.error());
  capture::RecorderOptions recorder;
  recorder.command = command;
  recorder.source.filter = *filter;
  recorder.limits.time_ns = *time_ns;
  recorder.filters_text = filters_text(request.target);
  if (!request.time.empty())
    recorder.limits_text.push_back("--time " + request.time);
  recorder.tags = *tags;
  return recorder;
}

Result<void> print_stat(const Stream& err, const std::filesystem::path& trace,
                        const output::StatOptions& options) {
  auto engine = analysis::Engine::open(trace, {});
  if (!engine)
    return std::unexpected(engine.error());
  const auto document = output::make_stat(**engine, options);
  if (!document)
    return std::unexpected(document.error());
  return print_document(err, *document);
}

int exit_status(const capture::ForegroundEnd& end, const Trailing& command) {
  if (end.command_status)
    return *end.command_status;
  if (end.failure)
    return static_cast<int>(exit_of(*end.failure));
  return command.empty() ? static_cast<int>(Exit::ok) : 128 + end.stop_signal;
}

// The options as they have been understood.
struct StatPlan {
  capture::RecorderOptions recorder;
  output::StatOptions output;
  std::shared_ptr<std::uint64_t> begin_ns = std::make_shared<std::uint64_t>(0);
};

Result<StatPlan> plan_of(const Stream& err, const StatRequest& request, const Trailing& command) {
  const auto interval_ns = parse_interval(request.interval);
  if (!interval_ns)
    return std::unexpected(interval_ns.error());
  if (Result<void> checked = output::check_stat_table(request.by); !checked)
    return std::unexpected(checked.error());
  const auto top = parse_count("--top", request.top);
  if (!top)
    return std::unexpected(top.error());
  const auto rows = parse_count("--rows", request.rows);
  if (!rows)
    return std::unexpected(rows.error());
  auto recorder = recorder_options(request, command);
  if (!recorder)
    return std::unexpected(recorder.error());
  StatPlan plan{.recorder = std::move(*recorder), .output = {.by = request.by, .rows = *top}};
  plan.recorder.source.aggregates =
      aggregate_options(err.file, *interval_ns, *rows,
                        output::Sample(plan.recorder.source.filter.sample_of), plan.begin_ns);
  return plan;
}

Result<int> stat(const Console& console, const StatRequest& request, const Trailing& command) {
  auto plan = plan_of(console.err, request, command);
  if (!plan)
    return std::unexpected(plan.error());
  std::optional<TemporaryDirectory> temporary;
  if (request.output.empty()) {
    auto made = TemporaryDirectory::make();
    if (!made)
      return std::unexpected(made.error());
    temporary.emplace(std::move(*made));
  }
  const std::filesystem::path trace =
      temporary ? temporary->path() / "stat.iotrail" : store::new_trace_path(request.output, "");
  plan->recorder.trace = trace;
  const auto on_begin = [&](const store::Manifest& manifest, const auto& refusals) {
    *plan->begin_ns = manifest.begin_ns;
    print_if_open(console.err, [&] {
      print_begin(console.err, command.empty() && request.time.empty(), refusals);
    });
  };
  std::vector<std::unique_ptr<capture::Source>> sources;
  sources.push_back(capture::make_kernel_source());
  const auto end = capture::record_in_foreground(plan->recorder, std::move(sources), on_begin,
                                                 request.follow ? capture::Until::all_end
                                                                : capture::Until::they_end,
                                                 [&] { print_disk_wait(console.err); });
  if (!end)
    return std::unexpected(end.error());
  if (end->failure) {
    print_failure(console.err, *end->failure);
    return exit_status(*end, command);
  }
  print_losses(console.err, end->manifest, temporary ? std::filesystem::path() : trace);
  if (Result<void> printed = print_stat(console.err, trace, plan->output); !printed)
    return std::unexpected(printed.error());
  if (!request.output.empty())
    fmt::print(console.err.file, "  trace {}\n  show it again: iotrail report {}\n",
               output::printable(trace.native()), shell_word(output::printable(trace.native())));
  temporary.reset(); // as long as no signal ends us
  return exit_status(*end, command);
}

Action declare_stat(CLI::App& app, const Trailing& trailing) {
  auto request = std::make_shared<StatRequest>();
  app.option_defaults()->group("Output");
  app.add_option("-o,--output", request->output,
                 "Keep the sums as a trace: its name in the repository, or a path")
      ->type_name("NAME");
  app.add_option("--interval", request->interval,
                 "Print rates by operation at each interval (1s, 500ms)")
      ->type_name("TIME");
  app.add_option("--by", request->by, "Print only one table: by operation, file, process or device")
      ->type_name("TABLE");
  app.add_option("--top", request->top, "Rows of each table")->type_name("COUNT");
  declare_target(app, request->target);
  app.option_defaults()->group("The recording");
  app.add_flag("--follow", request->follow,
               "Continue until every process that was started has ended");
  app.add_option("--time", request->time,
                 "Stop after this time (10s, 500ms, 2m); the command continues")
      ->type_name("TIME");
  app.add_option("--rows", request->rows,
                 "Sums (of files, processes and so on) that the kernel holds at once; default: "
                 "131072 (16 MiB)")
      ->type_name("COUNT");
  app.add_option("--tag", request->tags, "NAME=VALUE to store with the trace; may be repeated")
      ->type_name("NAME=VALUE");
  app.footer("The exit status is the command's own. All layers but app are counted.");
  return [request, &trailing](const Console& console) { return stat(console, *request, trailing); };
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
