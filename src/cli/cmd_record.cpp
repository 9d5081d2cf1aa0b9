// SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/process.hpp"
#include "capture/command.hpp"
#include "capture/foreground.hpp"
#include "capture/kernel/kernel_source.hpp"
#include "capture/preload/preload_source.hpp"
#include "capture/snapshot/snapshot_source.hpp"
#include "cli/amounts.hpp"
#include "cli/commands.hpp"
#include "cli/exit.hpp"
#include "cli/record_summary.hpp"
#include "cli/snapshot_options.hpp"
#include "cli/trace_options.hpp"
#include "store/catalogue.hpp"

namespace iotrail::cli {
namespace {

struct RecordOptions {
  std::string output;
  std::vector<std::string> layers;
  std::vector<std::string> events;
  std::vector<pid_t> pids;
  std::vector<std::string> cgroups;
  std::vector<std::string> devices;
  std::vector<std::string> files;
  bool whole_system = false;
  std::vector<std::string> snapshots;
  std::vector<std::string> tags;
  std::string time;
  std::string size;
  std::string buffer;
  bool quiet = false;
  bool strict = false;
  bool follow = false;
};

Result<std::vector<schema::Layer>> parse_layers(const std::vector<std::string>& names) {
  std::vector<schema::Layer> layers;
  std::string known;
  for (const schema::LayerInfo& row : schema::kLayers) {
    if (row.layer == schema::Layer::dictionary || row.layer == schema::Layer::snapshot)
      continue;
    if (!known.empty())
      known += ", ";
    known += row.name;
    const bool is_usual = names.empty() && !schema::is_on_request(row.layer);
    if (is_usual || std::ranges::find(names, row.name) != names.end())
      layers.push_back(row.layer);
  }
  for (const std::string& name : names)
    if (std::ranges::none_of(layers, [&](schema::Layer layer) {
          return schema::layer_name(static_cast<std::uint32_t>(layer)) == name;
        }))
      return fail_usage(fmt::format("--layers: there is no layer '{}'", name),
                        "the layers are " + known);
  return layers;
}

constexpr std::string_view kDefaultEvents = "default";

// What is recorded where nothing is asked for.
bool is_default(const schema::Event& event) {
  return !event.is_dictionary() && event.layer != schema::Layer::snapshot &&
         !schema::is_on_request(event) && !schema::is_on_request(event.layer);
}

// With those for which `default` stands, which come first, as their layers do.
std::vector<std::string> expand_events(const std::vector<std::string>& names) {
  std::vector<std::string> events;
  if (std::ranges::find(names, kDefaultEvents) != names.end())
    for (const schema::Event& event : schema::kEvents)
      if (is_default(event))
        events.emplace_back(event.name);
  for (const std::string& name : names)
    if (name != kDefaultEvents)
      events.push_back(name);
  return events;
}

// Events that are named also name their layers.
Result<void> check_events(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const schema::Event* event = schema::find_event(name);
    if (event != nullptr && event->layer == schema::Layer::snapshot)
      return fail_usage(fmt::format("--events: '{}' is a table of snapshots", name),
                        "--snapshot records these");
    if (event == nullptr || event->is_dictionary())
      return fail_usage(fmt::format("--events: there is no event '{}'", name),
                        "`iotrail schema` lists the events");
  }
  return {};
}

std::vector<schema::Layer> layers_of(const std::vector<std::string>& events) {
  std::vector<schema::Layer> layers;
  for (const std::string& name : events)
    if (const schema::Layer layer = schema::find_event(name)->layer;
        std::ranges::find(layers, layer) == layers.end())
      layers.push_back(layer);
  return layers;
}

Result<void> check_pids(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    if (pid == ::getpid())
      return fail_usage(fmt::format("-p {}: a recording does not trace itself", pid));
    if (pid > 0 && ::kill(pid, 0) == 0) {
      if (const pid_t process = process_of_thread(pid); process != pid && process != 0)
        return fail_usage(fmt::format("-p {}: this is a thread of process {}", pid, process),
                          "processes are recorded whole", fmt::format("Write -p {}.", process));
      continue;
    }
    const int code = pid > 0 ? errno : ESRCH;
    return fail_errno(fmt::format("cannot record process {}", pid), code,
                      code == EPERM
                          ? "It belongs to another user: run iotrail as that user or as root."
                          : "`ps -e` lists the processes there are.");
  }
  return {};
}

bool need_source(const std::vector<schema::Layer>& layers, std::uint32_t source) {
  return std::ranges::any_of(
      layers, [&](schema::Layer layer) { return schema::source_of(layer) == source; });
}

// Whose I/O is recorded: a command's, that of what runs already, or everyone's.
Result<void> check_target(const RecordOptions& options, const Trailing& command) {
  const bool names_running = !options.pids.empty() || !options.cgroups.empty();
  const bool names_objects = !options.devices.empty() || !options.files.empty();
  if (command.empty() && !names_running && !names_objects && !options.whole_system)
    return fail_usage("nothing to record", "neither a command nor anything that runs was given",
                      "Write `iotrail record -- COMMAND ARGUMENTS` or `iotrail record -p PID`;\n"
                      "  --cgroup, --device, --file and --system name other things to record.");
  if (!command.empty() && (names_running || options.whole_system))
    return fail_usage("a command excludes -p, --cgroup and --system");
  if (names_running && options.whole_system)
    return fail_usage("--system excludes -p and --cgroup");
  if (Result<void> checked = check_pids(options.pids); !checked)
    return checked;
  if (command.empty())
    return {};
  const auto file = capture::find_command(command.front());
  return file ? Result<void>{} : std::unexpected(file.error());
}

Result<capture::Filter> make_filter(const RecordOptions& options, const Trailing& command) {
  const std::vector<std::string> events = expand_events(options.events);
  if (Result<void> checked = check_events(events); !checked)
    return std::unexpected(checked.error());
  Result<std::vector<schema::Layer>> layers = parse_layers(options.layers);
  if (!layers)
    return std::unexpected(layers.error());
  if (options.layers.empty() && !events.empty())
    layers = layers_of(events);
  const bool has_default = events.empty() || events.size() > options.events.size();
  if (options.layers.empty() && command.empty() && has_default)
    std::erase(*layers, schema::Layer::app); // seen only in what iotrail starts
  if (!options.snapshots.empty())
    layers->push_back(schema::Layer::snapshot);
  return capture::Filter{.layers = *layers,
                         .events = events,
                         .pids = options.pids,
                         .cgroups = options.cgroups,
                         .devices = options.devices,
                         .files = options.files,
                         .whole_system = options.whole_system};
}

Result<std::uint64_t> parse_buffer(const std::string& text) {
  constexpr std::uint64_t kLeast = 64U << 10U;
  constexpr std::uint64_t kMost = 1U << 30U;
  const auto bytes = parse_size("--buffer", text);
  if (!bytes || *bytes == 0 || (*bytes >= kLeast && *bytes <= kMost))
    return bytes;
  return fail_usage(fmt::format("--buffer {}", text), "a ring has from 64K to 1G");
}

// As on the command line; what a trace is of is to be read off it.
std::vector<std::string> filters_text(const RecordOptions& options) {
  std::vector<std::string> words;
  if (options.whole_system)
    words.emplace_back("--system");
  for (const pid_t pid : options.pids)
    words.push_back(fmt::format("-p {} ({})", pid, comm_of(pid)));
  const auto add = [&](std::string_view option, const std::vector<std::string>& values) {
    for (const std::string& value : values)
      words.push_back(fmt::format("{} {}", option, value));
  };
  add("--cgroup", options.cgroups);
  add("--device", options.devices);
  add("--file", options.files);
  add("--events", options.events);
  add("--snapshot", options.snapshots);
  return words;
}

std::vector<std::string> limits_text(const RecordOptions& options) {
  std::vector<std::string> words;
  if (!options.time.empty())
    words.push_back("--time " + options.time);
  if (!options.size.empty())
    words.push_back("--size " + options.size);
  return words;
}

// Of a trace that was given none.
std::string trace_name(const RecordOptions& options, const Trailing& command) {
  const auto name_of = [](std::string_view kind, const std::string& path) {
    return fmt::format("{}-{}", kind, std::filesystem::path(path).filename().native());
  };
  if (!command.empty())
    return std::filesystem::path(command.front()).filename().native();
  if (!options.pids.empty())
    return fmt::format("pid-{}", options.pids.front());
  if (!options.cgroups.empty())
    return name_of("cgroup", options.cgroups.front());
  if (!options.devices.empty())
    return name_of("device", options.devices.front());
  return options.files.empty() ? "system" : name_of("file", options.files.front());
}

Result<capture::RecorderOptions> recorder_options(const RecordOptions& options,
                                                  const Trailing& command) {
  if (Result<void> checked = check_target(options, command); !checked)
    return std::unexpected(checked.error());
  auto filter = make_filter(options, command);
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
  capture::RecorderOptions recorder;
  recorder.trace = store::new_trace_path(options.output, trace_name(options, command));
  recorder.command = command;
  recorder.source.filter = *filter;
  recorder.source.ring_bytes = *buffer_bytes;
  recorder.limits = {*time_ns, *size_bytes};
  recorder.filters_text = filters_text(options);
  recorder.limits_text = limits_text(options);
  recorder.tags = *tags;
  return recorder;
}

std::vector<std::unique_ptr<capture::Source>>
make_sources(const capture::Filter& filter, const capture::SnapshotOptions& snapshots) {
  std::vector<std::unique_ptr<capture::Source>> sources;
  if (need_source(filter.layers, IOT_source_preload))
    sources.push_back(capture::make_preload_source());
  if (need_source(filter.layers, IOT_source_kernel))
    sources.push_back(capture::make_kernel_source());
  if (!snapshots.wanted.empty())
    sources.push_back(capture::make_snapshot_source(snapshots));
  return sources;
}

// The recorder has run the command, so its status is the command's: a script may be wrapped unchanged.
int exit_status(const capture::ForegroundEnd& end, const RecordOptions& options,
                const Trailing& command) {
  if (options.strict && end.manifest.lost() + end.manifest.gaps() != 0)
    return static_cast<int>(Exit::losses);
  if (end.command_status)
    return *end.command_status;
  if (command.empty())
    return static_cast<int>(Exit::ok);
  return 128 + end.stop_signal;
}

Result<int> record(const RecordOptions& options, const Trailing& command) {
  Result<capture::RecorderOptions> recorder = recorder_options(options, command);
  if (!recorder)
    return std::unexpected(recorder.error());
  auto snapshots = parse_snapshots("--snapshot", options.snapshots, ".");
  if (!snapshots)
    return std::unexpected(snapshots.error());
  const capture::Filter& filter = recorder->source.filter;
  if (!command.empty() && need_source(filter.layers, IOT_source_preload))
    warn_of_obstacle(command.front());
  const auto on_begin = [&](const store::Manifest&, const auto& refusals) {
    print_begin(command.empty(), refusals);
  };
  auto end = capture::record_in_foreground(*recorder, make_sources(filter, *snapshots), on_begin,
                                           options.follow ? capture::Until::all_end
                                                          : capture::Until::they_end);
  if (!end)
    return std::unexpected(end.error());
  if (!options.quiet)
    print_summary(end->manifest, recorder->trace);
  else
    print_losses(end->manifest, recorder->trace);
  return exit_status(*end, options, command);
}

} // namespace

Action declare_record(CLI::App& app, const Trailing& trailing) {
  auto options = std::make_shared<RecordOptions>();
  app.add_option("-o,--output", options->output,
                 "Name of the trace in the repository, or a path; default: command and time");
  app.add_option("-l,--layers", options->layers,
                 "Layers to record, separated by commas; default: all but device")
      ->delimiter(',');
  app.add_option(
         "-e,--events", options->events,
         "Events to record, separated by commas (syscall_write,block_issue); `default` stands for "
         "those that are recorded without this option")
      ->delimiter(',');
  app.add_option("-p,--pid", options->pids,
                 "Record this process, which runs already, and all that it has started and will "
                 "start, until it ends")
      ->delimiter(',');
  app.add_option("--cgroup", options->cgroups,
                 "Record the processes of this control group (version 2) and of those below it");
  app.add_option(
      "--device", options->devices,
      "Only I/O of this disk and of files on it; without a command, -p or --cgroup: everyone's");
  app.add_option(
      "--file", options->files,
      "Only I/O of this file, by whatever name; without a command, -p or --cgroup: everyone's");
  app.add_flag("--system", options->whole_system, "Record everything on the machine");
  app.add_flag(
      "--follow", options->follow,
      "Go on after the command or the processes named have ended, until all that they have "
      "started has; Ctrl-C or --time end it before");
  app.add_option(
      "--snapshot", options->snapshots,
      "Take snapshots too, KIND,...[:PERIOD]: of process, system, fs (files below the "
      "current directory) or fs=PATH; each once, or again every PERIOD; may be repeated");
  app.add_option("--time", options->time,
                 "Stop recording after this time (10s, 500ms, 2m); the command goes on");
  app.add_option("--size", options->size,
                 "Stop recording when the trace has this size (64M, 2G), as `list` shows it");
  app.add_option(
      "--buffer", options->buffer,
      "Size of the ring of each CPU and of each thread (1M); larger ones bear longer bursts");
  app.add_option("--tag", options->tags, "NAME=VALUE to keep with the trace; may be repeated");
  app.add_flag("-q,--quiet", options->quiet,
               "No summary at the end; losses are reported all the same");
  app.add_flag("--strict", options->strict,
               "Exit with status 3 when any event was or may have been lost");
  app.footer("The command follows after `--`. The exit status is the command's own.");
  return [options, &trailing] { return record(*options, trailing); };
}

} // namespace iotrail::cli
