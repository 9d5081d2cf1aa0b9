// SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/process.hpp"
#include "capture/kernel/kernel_source.hpp"
#include "capture/preload/preload_source.hpp"
#include "capture/session.hpp"
#include "cli/commands.hpp"
#include "cli/record_summary.hpp"
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
  std::vector<std::string> tags;
  std::uint64_t time_ns = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t buffer_bytes = 0;
  bool quiet = false;
  bool strict = false;
};

const std::map<std::string, std::uint64_t> kTimeUnits = {
    {"ms", 1'000'000U}, {"s", 1'000'000'000U}, {"m", 60'000'000'000U}, {"h", 3'600'000'000'000U}};

Result<std::vector<schema::Layer>> parse_layers(const std::vector<std::string>& names) {
  std::vector<schema::Layer> layers;
  std::string known;
  for (const schema::LayerInfo& row : schema::kLayers) {
    if (row.layer == schema::Layer::dictionary)
      continue;
    if (!known.empty())
      known += ", ";
    known += row.name;
    if (names.empty() || std::ranges::find(names, row.name) != names.end())
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

// Events that are named also name their layers.
Result<void> check_events(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const schema::Event* event = schema::find_event(name);
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

Result<std::map<std::string, std::string>> parse_tags(const std::vector<std::string>& tags) {
  std::map<std::string, std::string> parsed;
  for (const std::string& tag : tags) {
    const auto equals = tag.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail_usage(fmt::format("--tag {}: not of the form NAME=VALUE", tag));
    parsed[tag.substr(0, equals)] = tag.substr(equals + 1);
  }
  return parsed;
}

bool wants(const std::vector<schema::Layer>& layers, bool app) {
  return std::ranges::any_of(
      layers, [&](schema::Layer layer) { return (layer == schema::Layer::app) == app; });
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
  if (Result<void> checked = check_events(options.events); !checked)
    return std::unexpected(checked.error());
  Result<std::vector<schema::Layer>> layers = parse_layers(options.layers);
  if (!layers)
    return std::unexpected(layers.error());
  if (options.layers.empty() && !options.events.empty())
    layers = layers_of(options.events);
  else if (options.layers.empty() && command.empty())
    std::erase(*layers, schema::Layer::app); // seen only in what iotrail starts
  return capture::Filter{.layers = *layers,
                         .events = options.events,
                         .pids = options.pids,
                         .cgroups = options.cgroups,
                         .devices = options.devices,
                         .files = options.files,
                         .whole_system = options.whole_system};
}

Result<void> check_buffer(std::uint64_t bytes) {
  constexpr std::uint64_t kLeast = 64U << 10U;
  constexpr std::uint64_t kMost = 1U << 30U;
  if (bytes == 0 || (bytes >= kLeast && bytes <= kMost))
    return {};
  return fail_usage(fmt::format("--buffer {}", bytes), "a ring has from 64K to 1G");
}

// As on the command line; what a trace is of is to be read off it.
std::vector<std::string> filters_text(const RecordOptions& options) {
  std::vector<std::string> words;
  if (options.whole_system)
    words.emplace_back("--system");
  for (const pid_t pid : options.pids)
    words.push_back(fmt::format("-p {}", pid));
  const auto add = [&](std::string_view option, const std::vector<std::string>& values) {
    for (const std::string& value : values)
      words.push_back(fmt::format("{} {}", option, value));
  };
  add("--cgroup", options.cgroups);
  add("--device", options.devices);
  add("--file", options.files);
  add("--events", options.events);
  return words;
}

std::vector<std::string> limits_text(const RecordOptions& options) {
  std::vector<std::string> words;
  if (options.time_ns != 0)
    words.push_back(fmt::format("--time {}ms", options.time_ns / 1'000'000));
  if (options.size_bytes != 0)
    words.push_back(fmt::format("--size {}", options.size_bytes));
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

Result<capture::SessionOptions> session_options(const RecordOptions& options,
                                                const Trailing& command) {
  if (Result<void> checked = check_target(options, command); !checked)
    return std::unexpected(checked.error());
  auto filter = make_filter(options, command);
  if (!filter)
    return std::unexpected(filter.error());
  auto tags = parse_tags(options.tags);
  if (!tags)
    return std::unexpected(tags.error());
  if (Result<void> checked = check_buffer(options.buffer_bytes); !checked)
    return std::unexpected(checked.error());
  capture::SessionOptions session;
  session.trace = store::new_trace_path(options.output, trace_name(options, command));
  session.command = command;
  session.source = {*filter, options.buffer_bytes};
  session.limits = {options.time_ns, options.size_bytes};
  session.filters_text = filters_text(options);
  session.limits_text = limits_text(options);
  session.tags = *tags;
  return session;
}

std::vector<std::unique_ptr<capture::Source>> make_sources(const capture::Filter& filter) {
  std::vector<std::unique_ptr<capture::Source>> sources;
  if (wants(filter.layers, true))
    sources.push_back(capture::make_preload_source());
  if (wants(filter.layers, false))
    sources.push_back(capture::make_kernel_source());
  return sources;
}

// The recorder has run the command, so its status is the command's: a script may be wrapped unchanged.
int exit_status(const capture::SessionSummary& summary, const RecordOptions& options) {
  if (options.strict && summary.manifest.lost() != 0)
    return static_cast<int>(Exit::losses);
  if (summary.command_status)
    return *summary.command_status;
  if (summary.manifest.command.empty())
    return static_cast<int>(Exit::ok);
  return 128 + summary.stop_signal;
}

Result<int> record(const RecordOptions& options, const Trailing& command) {
  Result<capture::SessionOptions> session = session_options(options, command);
  if (!session)
    return std::unexpected(session.error());
  if (!command.empty() && wants(session->source.filter.layers, true))
    warn_of_obstacle(command.front());
  auto summary = capture::run_session(*session, make_sources(session->source.filter), print_begin);
  if (!summary)
    return std::unexpected(summary.error());
  if (!options.quiet)
    print_summary(*summary, session->trace);
  else
    print_losses(*summary, session->trace);
  return exit_status(*summary, options);
}

} // namespace

Action declare_record(CLI::App& app, const Trailing& trailing) {
  auto options = std::make_shared<RecordOptions>();
  app.add_option("-o,--output", options->output,
                 "Name of the trace in the repository, or a path; default: command and time");
  app.add_option("-l,--layers", options->layers,
                 "Layers to record, separated by commas; default: all")
      ->delimiter(',');
  app.add_option("-e,--events", options->events,
                 "Events to record, separated by commas (syscall_write,block_issue); default: all")
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
  app.add_option("--time", options->time_ns,
                 "Stop recording after this time (10s, 500ms, 2m); the command goes on")
      ->transform(CLI::AsNumberWithUnit(kTimeUnits, CLI::AsNumberWithUnit::UNIT_REQUIRED, "TIME"));
  app.add_option("--size", options->size_bytes,
                 "Stop recording when the trace has this size (64M, 2G)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option(
         "--buffer", options->buffer_bytes,
         "Size of the ring of each CPU and of each thread (1M); larger ones bear longer bursts")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--tag", options->tags, "NAME=VALUE to keep with the trace; may be repeated");
  app.add_flag("-q,--quiet", options->quiet, "No summary at the end; losses are told all the same");
  app.add_flag("--strict", options->strict, "Exit with status 3 when any event was lost");
  app.footer("The command follows after `--`. The exit status is the command's own.");
  return [options, &trailing] { return record(*options, trailing); };
}

} // namespace iotrail::cli
