// SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

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
  std::vector<pid_t> pids;
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

Result<void> check_pids(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    if (pid == ::getpid())
      return fail_usage(fmt::format("-p {}: a recording does not trace itself", pid));
    if (pid > 0 && ::kill(pid, 0) == 0)
      continue;
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

Result<capture::SessionOptions> session_options(const RecordOptions& options,
                                                const Trailing& command) {
  if (command.empty() && options.pids.empty())
    return fail_usage("nothing to record", "neither a command nor a process was given",
                      "Write `iotrail record -- COMMAND ARGUMENTS` or `iotrail record -p PID`.");
  if (!command.empty() && !options.pids.empty())
    return fail_usage("a command and -p exclude each other");
  Result<std::vector<schema::Layer>> layers = parse_layers(options.layers);
  if (!layers)
    return std::unexpected(layers.error());
  if (Result<void> checked = check_pids(options.pids); !checked)
    return std::unexpected(checked.error());
  if (!command.empty())
    if (auto file = capture::find_command(command.front()); !file)
      return std::unexpected(file.error());

  auto tags = parse_tags(options.tags);
  if (!tags)
    return std::unexpected(tags.error());

  capture::SessionOptions session;
  session.tags = *tags;
  const std::string name =
      command.empty() ? fmt::format("pid-{}", options.pids.front()) : command.front();
  session.trace =
      store::new_trace_path(options.output, std::filesystem::path(name).filename().native());
  session.command = command;
  session.source.filter.layers = *layers;
  session.source.filter.pids = options.pids;
  session.source.ring_bytes = options.buffer_bytes;
  session.limits = {options.time_ns, options.size_bytes};
  for (const pid_t pid : options.pids)
    session.filters_text.push_back(fmt::format("-p {}", pid));
  if (options.time_ns != 0)
    session.limits_text.push_back(fmt::format("--time {}ms", options.time_ns / 1'000'000));
  if (options.size_bytes != 0)
    session.limits_text.push_back(fmt::format("--size {}", options.size_bytes));
  return session;
}

std::vector<std::unique_ptr<capture::Source>> make_sources(const capture::Filter& filter) {
  std::vector<std::unique_ptr<capture::Source>> sources;
  // A process that runs already cannot be made to load a library.
  if (wants(filter.layers, true) && filter.pids.empty())
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
  app.add_option("-p,--pid", options->pids,
                 "Record this process, which runs already, and all that it starts");
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
  app.add_flag("-q,--quiet", options->quiet, "No summary at the end");
  app.add_flag("--strict", options->strict, "Exit with status 3 when any event was lost");
  app.footer("The command follows after `--`. The exit status is the command's own.");
  return [options, &trailing] { return record(*options, trailing); };
}

} // namespace iotrail::cli
