// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "capture/session/foreground.hpp"
#include "capture/sources/sources.hpp"
#include "cli/messages.hpp"
#include "cli/record_messages.hpp"
#include "compat/iotrace/answers/answer.hpp"
#include "compat/iotrace/catalog.hpp"
#include "compat/iotrace/command_line.hpp"
#include "compat/iotrace/device_guard.hpp"
#include "compat/iotrace/tracing_request.hpp"
#include "text/printable.hpp"

namespace iotrail::compat::iotrace {
namespace {

void say(const cli::Console& console, const std::string& text) {
  cli::print_if_open(console.err, [&] {
    cli::print_message(console.err, fmt::format("iotrace: {}", output::printable(text)));
  });
}

Result<std::vector<DeviceGuard>> guard(const std::vector<Disk>& disks) {
  std::vector<DeviceGuard> guards;
  for (const Disk& disk : disks) {
    auto taken = DeviceGuard::take(disk.device, disk.path);
    if (!taken)
      return std::unexpected(taken.error());
    guards.push_back(std::move(*taken));
  }
  return guards;
}

capture::RecorderOptions recorder_of(const capture::RecordingRequest& request,
                                     const TracingOptions& options) {
  capture::RecorderOptions recorder = capture::recorder_options(request);
  for (const std::string& device : request.filter.wanted.devices)
    recorder.filters_text.push_back("--device " + device);
  if (request.limits.time_ns != 0)
    recorder.limits_text.push_back(fmt::format("--time {}s", options.seconds));
  recorder.limits_text.push_back(fmt::format("--size {}M", options.size_mib));
  return recorder;
}

void begin(const cli::Console& console, const std::vector<capture::UnavailableSource>& refusals) {
  cli::print_if_open(console.err, [&] { cli::print_begin(console.err, false, refusals); });
  say(console, "tracing started; Ctrl-C stops it");
}

Result<void> print_end(const cli::Console& console, const capture::RecordingRequest& request,
                       const capture::ForegroundOutcome& end) {
  const CatalogEntry entry{trace_path_of(request.trace), store::repository_entry(request.trace)};
  if (const auto printed = print_answer(console, summary_json(entry)); !printed)
    return printed;
  if (end.failure)
    return std::unexpected(*end.failure);
  if (end.manifest.state != store::State::COMPLETE)
    return fail(fmt::format("Tracing not completed, trace path {}", entry.trace_path),
                end.manifest.stop_reason);
  cli::print_if_open(console.err, [&] { cli::print_warnings_of(console.err, end.manifest); });
  return {};
}

Result<void> trace(const cli::Console& console, const TracingOptions& options) {
  const auto disks = disks_of(options.devices);
  if (!disks)
    return std::unexpected(disks.error());
  const auto request = request_of(options, *disks);
  if (!request)
    return std::unexpected(request.error());
  for (const Disk& disk : *disks)
    if (disk.path != disk.named)
      say(console, fmt::format("{} is a partition: its disk {} is traced", disk.named, disk.path));
  const auto guards = guard(*disks);
  if (!guards)
    return std::unexpected(guards.error());
  const auto end = capture::record_in_foreground(
      recorder_of(*request, options), capture::make_sources(*request),
      [&](const store::Manifest&, const auto& refusals) { begin(console, refusals); },
      capture::Until::they_end, [&] { cli::print_disk_wait(console.err); });
  if (!end)
    return std::unexpected(end.error());
  return print_end(console, *request, *end);
}

Action declare_start(CLI::App& app) {
  auto options = std::make_shared<TracingOptions>();
  app.add_option("-d,--devices", options->devices,
                 "Block devices to trace, separated by commas, at most 32; for a partition its "
                 "whole disk is traced")
      ->type_name("DEVICE")
      ->delimiter(',')
      ->required();
  app.add_option("-t,--time", options->seconds,
                 "Stop after so many seconds, 1 to 4294967295; default: no limit")
      ->type_name("SECONDS")
      ->check(within(1, kEndlessSeconds));
  app.add_option("-s,--size", options->size_mib,
                 "Stop at this size of the trace in MiB, 1 to 100000000; default: 1000")
      ->type_name("MIB")
      ->check(within(1, 100'000'000));
  app.add_option("-b,--buffer", options->buffer_mib,
                 "Size of the buffers of all CPUs together in MiB, 1 to 1024; default: 100")
      ->type_name("MIB")
      ->check(within(1, 1024));
  app.add_option("-g,--tags", options->tags, "A tag to store with the trace; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  app.add_option("-l,--label", options->label, "A label to store with the trace, as a tag")
      ->type_name("TEXT");
  app.footer("Prints the summary of the trace as JSON when it ends: at a limit, or by SIGINT or "
             "SIGTERM.");
  return [options](const cli::Console& console) { return trace(console, *options); };
}

} // namespace

std::span<const Command> tracing_commands() {
  static constexpr Command kCommands[] = {
      {'S', "start-tracing", "start-trace", "Trace the I/O of block devices", declare_start},
  };
  return kCommands;
}

} // namespace iotrail::compat::iotrace
