// SPDX-License-Identifier: BSD-3-Clause
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <memory>

#include "cli/messages.hpp"
#include "cli/open_trace.hpp"
#include "cli/options/trace_options.hpp"
#include "cli/verb.hpp"
#include "replay/comparison.hpp"
#include "replay/device_runner.hpp"
#include "replay/initial_state.hpp"
#include "replay/runner.hpp"
#include "store/reader/repository.hpp"
#include "text/printable.hpp"
#include "text/table.hpp"
#include "text/units.hpp"

namespace iotrail::cli {
namespace {

using replay::Kind;

constexpr int kStatusDiffers = 4;
constexpr double kSpeedMost = 1e6;

struct DeviceWish {
  std::string target; // "/dev/loop0"
  std::string from;   // the recorded device; empty: the only one
  bool may_overwrite = false;
};

struct ReplayWish {
  std::string trace;
  std::string directory;
  std::string speed = "1x";
  std::string recording; // of the replay; empty: none
  bool prepare = false;
  bool is_prepared = false;
  DeviceWish device;
};

// "2x", "0.5"; "max" is 0: no time outside of calls.
Result<double> parse_speed(const std::string& text) {
  if (text == "max")
    return 0.0;
  const std::string number = text.ends_with('x') ? text.substr(0, text.size() - 1) : text;
  double speed = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), speed);
  if (problem != std::errc{} || end != number.data() + number.size() || !(speed > 0) ||
      speed > kSpeedMost)
    return fail_usage(fmt::format("'{}' is no speed", text), "it is a factor, as 2x or 0.5x",
                      "--speed max leaves out all time between calls.");
  return speed;
}

Result<void> print_outcome(const Console& console, const replay::Outcome& outcome) {
  output::Sink sink(console.out.file);
  sink.print(
      "Replayed {} by {} in {}; recorded in {}\n", output::human_count_of(outcome.calls(), "call"),
      output::human_count_of(outcome.threads, "thread"),
      output::human_duration(outcome.duration_ns), output::human_duration(outcome.recorded_ns));
  output::TextTable table({{.title = "call", .align = output::Align::left},
                           {.title = "calls", .align = output::Align::right},
                           {.title = "as recorded", .align = output::Align::right},
                           {.title = "bytes", .align = output::Align::right},
                           {.title = "recorded bytes", .align = output::Align::right, .rank = 1}});
  for (std::size_t i = 0; i < replay::kKinds; ++i) {
    const replay::KindOutcome& kind = outcome.kinds[i];
    const bool moves = static_cast<Kind>(i) == Kind::read || static_cast<Kind>(i) == Kind::write;
    if (kind.calls > 0)
      table.add({std::string(replay::kind_name(static_cast<Kind>(i))),
                 output::human_count(kind.calls), output::human_count(kind.agreed),
                 moves ? output::human_bytes(kind.moved_bytes) : "",
                 moves ? output::human_bytes(kind.recorded_bytes) : ""});
  }
  table.print(sink, "  ", console.out.terminal_width());
  for (const std::string& difference : outcome.differences)
    sink.print("  {}\n", difference);
  if (outcome.differed() > outcome.differences.size())
    sink.print("  {} more differences\n",
               output::human_count(outcome.differed() - outcome.differences.size()));
  return sink.finish();
}

void print_left_out(const Console& console, const replay::Plan& plan) {
  for (const auto& [what, count] : plan.left_out)
    print_message(console.err, fmt::format("iotrail: left out {} {}", output::human_count(count),
                                           output::printable(what)));
}

Result<replay::Plan> plan_of(const std::string& trace, const Console& console) {
  const auto engine = open_engine(trace);
  if (!engine)
    return std::unexpected(engine.error());
  auto plan = replay::read_plan(**engine);
  if (plan)
    print_warnings(console.err, (*engine)->trace());
  return plan;
}

Result<void> print_device_outcome(const Console& console, const DeviceWish& wish,
                                  const replay::DevicePlan& plan,
                                  const replay::DeviceOutcome& outcome) {
  output::Sink sink(console.out.file);
  sink.print("Replayed {} of {} on {} in {}; recorded in {}\n",
             output::human_count_of(plan.requests.size(), "request"),
             output::printable(plan.device), output::printable(wish.target),
             output::human_duration(outcome.duration_ns), output::human_duration(plan.duration_ns));
  output::TextTable table({{.title = "request", .align = output::Align::left},
                           {.title = "requests", .align = output::Align::right},
                           {.title = "as recorded", .align = output::Align::right},
                           {.title = "bytes", .align = output::Align::right}});
  for (std::size_t i = 0; i < replay::kDeviceActions; ++i)
    if (const replay::ActionOutcome& action = outcome.actions[i]; action.requests > 0)
      table.add({std::string(replay::action_name(static_cast<replay::DeviceAction>(i))),
                 output::human_count(action.requests),
                 output::human_count(action.requests - action.failed),
                 output::human_bytes(action.bytes)});
  table.print(sink, "  ", console.out.terminal_width());
  for (const std::string& failure : outcome.failures)
    sink.print("  {}\n", failure);
  return sink.finish();
}

// Returns whether each request had its recorded result.
Result<bool> replay_on_device(const Console& console, const std::string& trace,
                              const DeviceWish& wish, double speed) {
  const auto engine = open_engine(trace);
  if (!engine)
    return std::unexpected(engine.error());
  const auto plan = replay::read_device_plan(**engine, wish.from);
  if (!plan)
    return std::unexpected(plan.error());
  print_warnings(console.err, (*engine)->trace());
  const auto device = replay::TargetDevice::open(wish.target, *plan, wish.may_overwrite);
  if (!device)
    return std::unexpected(device.error());
  for (const auto& [what, count] : plan->left_out)
    print_message(console.err,
                  fmt::format("iotrail: left out {} {}", output::human_count(count), what));
  const auto outcome = replay::run_on_device(*plan, *device, speed);
  if (!outcome)
    return std::unexpected(outcome.error());
  if (const auto printed = print_device_outcome(console, wish, *plan, *outcome); !printed)
    return std::unexpected(printed.error());
  return outcome->failed() == 0;
}

// iotrail records itself while it replays what is prepared. Returns the status of the replay.
Result<int> record_replay(const ReplayWish& wish) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").native();
  std::vector<std::string> words = {
      program,  "record",   "-q",     "-o",           wish.recording, "--",      program,
      "replay", wish.trace, "--into", wish.directory, "--prepared",   "--speed", wish.speed};
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (const int code =
          ::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ);
      code != 0)
    return fail_errno(fmt::format("cannot start {}", program), code);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<int> compare_recordings(const Console& console, const ReplayWish& wish,
                               const replay::Plan& plan) {
  const auto replayed = plan_of(wish.recording, console);
  if (!replayed)
    return std::unexpected(replayed.error());
  std::error_code none;
  const auto comparison =
      replay::compare(plan, *replayed, std::filesystem::canonical(wish.directory, none));
  output::Sink sink(console.out.file);
  if (comparison.difference_count == 0)
    sink.print("The recording of the replay agrees: {} on {}, {} moved\n",
               output::human_count_of(comparison.calls, "call"),
               output::human_count_of(comparison.files, "file"),
               output::human_bytes(comparison.bytes));
  else
    sink.print("The recording of the replay differs in {}\n",
               output::human_count_of(comparison.difference_count, "set of calls"));
  for (const std::string& difference : comparison.differences)
    sink.print("  {}\n", difference);
  if (auto done = sink.finish(); !done)
    return std::unexpected(done.error());
  return comparison.difference_count == 0 ? 0 : kStatusDiffers;
}

Result<int> replay_recorded(const Console& console, const ReplayWish& wish,
                            const replay::Plan& plan) {
  const auto status = record_replay(wish);
  if (!status || *status != 0)
    return status;
  return compare_recordings(console, wish, plan);
}

Result<void> check_wish(const ReplayWish& wish) {
  const bool is_device = !wish.device.target.empty();
  if (is_device == !wish.directory.empty())
    return fail_usage("replay needs a place", "give either --into DIRECTORY or --device DEVICE");
  if (!is_device && (!wish.device.from.empty() || wish.device.may_overwrite))
    return fail_usage("--from and --overwrite apply to --device only");
  if (is_device && (wish.prepare || wish.is_prepared || !wish.recording.empty()))
    return fail_usage("--prepare, --prepared and --record apply to --into only", {},
                      "`iotrail record --device DEVICE` records a replay on a device.");
  if (wish.prepare && wish.is_prepared)
    return fail_usage("--prepare and --prepared exclude one another");
  if (wish.prepare && !wish.recording.empty())
    return fail_usage("--prepare and --record exclude one another", "nothing is replayed");
  return wish.recording.empty() ? Result<void>() : check_output(wish.recording);
}

Result<int> replay_trace(const Console& console, ReplayWish wish) {
  if (const auto checked = check_wish(wish); !checked)
    return std::unexpected(checked.error());
  const auto speed = parse_speed(wish.speed);
  if (!speed)
    return std::unexpected(speed.error());
  if (!wish.device.target.empty()) {
    const auto agrees = replay_on_device(console, wish.trace, wish.device, *speed);
    return agrees ? Result<int>(*agrees ? 0 : kStatusDiffers) : std::unexpected(agrees.error());
  }
  const auto plan = plan_of(wish.trace, console);
  if (!plan)
    return std::unexpected(plan.error());
  const auto place = replay::Place::open(wish.directory, wish.is_prepared);
  if (!place)
    return std::unexpected(place.error());
  if (!wish.is_prepared) {
    if (const auto made = replay::prepare(replay::initial_state(*plan), *place); !made)
      return std::unexpected(made.error());
    print_left_out(console, *plan);
  }
  if (wish.prepare)
    return 0;
  if (!wish.recording.empty()) {
    wish.recording = store::new_trace_path(wish.recording, "replay").native();
    return replay_recorded(console, wish, *plan);
  }
  const auto outcome = replay::run(*plan, *place, *speed);
  if (!outcome)
    return std::unexpected(outcome.error());
  if (const auto printed = print_outcome(console, *outcome); !printed)
    return std::unexpected(printed.error());
  return outcome->differed() == 0 ? 0 : kStatusDiffers;
}

constexpr ExitStatus kStatuses[] = {
    {kStatusDiffers, "a call or request had another result than recorded"}};

Action declare_replay(CLI::App& app, const Trailing&) {
  auto wish = std::make_shared<ReplayWish>();
  app.add_option("trace", wish->trace, kTraceHelp)->type_name("TRACE")->required();
  app.add_option("--into", wish->directory,
                 "Work below this directory, which is new or empty. Nothing else is written")
      ->type_name("DIRECTORY");
  app.add_option("--device", wish->device.target,
                 "Instead make the requests of a recorded device on this one, which nothing uses")
      ->type_name("DEVICE");
  app.add_option("--from", wish->device.from,
                 "The recorded device, as sda; needed if the trace has requests of several")
      ->type_name("NAME");
  app.add_flag("--overwrite", wish->device.may_overwrite,
               "The device of --device may lose its data; needed if the recording writes");
  app.add_option("--speed", wish->speed,
                 "2x halves the times between the calls of a thread, or between requests; max "
                 "leaves them out")
      ->type_name("FACTOR|max")
      ->capture_default_str();
  app.add_option("--record", wish->recording,
                 "Record the replay as this trace, and compare both recordings")
      ->type_name("NAME");
  app.add_flag("--prepare", wish->prepare, "Only make the files that were there before");
  app.add_flag("--prepared", wish->is_prepared,
               "Make no files first: --prepare has made them in the directory");
  app.footer("Each recorded thread has a thread. A call begins after those that were over before "
             "it, and after the time that its thread spent outside of calls. The data are made "
             "up. docs/export.md says which calls are left out.");
  return [wish](const Console& console) { return replay_trace(console, *wish); };
}

} // namespace

extern const Verb kVerbReplay = {
    .name = "replay",
    .summary = "Make recorded calls on files, or requests of a device, again",
    .group = Group::read,
    .rank = 6,
    .declare = declare_replay,
    .examples = "  iotrail replay latest --into /mnt/new/again\n"
                "  iotrail replay latest --into again --speed max --record again\n"
                "  iotrail replay latest --device /dev/loop0 --from sda --overwrite\n",
    .statuses = kStatuses,
};

} // namespace iotrail::cli
