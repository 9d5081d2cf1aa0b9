// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrc/tracing.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/shell_word.hpp"
#include "capture/session/command.hpp"
#include "capture/session/foreground.hpp"
#include "capture/sources/sources.hpp"
#include "cli/exit.hpp"
#include "cli/messages.hpp"
#include "cli/open_trace.hpp"
#include "cli/options/snapshot_options.hpp"
#include "cli/record_messages.hpp"
#include "compat/shared/face_options.hpp"
#include "serve/client/http_upload.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::compat::iotrc {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kProcessPeriodNs = 300 * kNsPerSecond;
constexpr std::uint64_t kFilesPeriodNs = 3600 * kNsPerSecond;
constexpr std::uint64_t kMiB = 1U << 20U;

iot_u32 snapshot_kind(std::string_view name) {
  const auto kind = cli::parse_snapshot_kind("snapshot", name);
  return kind ? *kind : 0;
}

void describe(const cli::Console& console, const Resources& resources, StreamChoice streams) {
  say(console, kFace,
      fmt::format("{} logical cores, {} MiB of memory, {} MiB available, fastest link {} Mbit/s",
                  resources.cores, resources.memory_bytes / kMiB, resources.available_bytes / kMiB,
                  resources.link_mbps));
  say(console, kFace,
      fmt::format("page cache {}, network {}", streams.cache ? "on" : "off",
                  streams.network ? "on" : "off"));
}

Result<output::iotrc::Written> write_tree(const TracingOptions& options, const fs::path& trace) {
  const auto engine = cli::open_engine(trace);
  if (!engine)
    return std::unexpected(engine.error());
  const output::OutputDirectory directory(options.output);
  if (auto made = directory.make(); !made)
    return std::unexpected(made.error());
  auto written = output::iotrc::write_tree({.engine = **engine}, options.tree, directory);
  if (written)
    directory.keep();
  return written;
}

// The session is known by its path below the directory of the tree.
Result<void> upload_session(const cli::Console& console, const TracingOptions& options,
                            const std::string& session) {
  const auto sent = upload_tree(options.output, session, options.upload);
  const fs::path tree = fs::path(options.output) / session;
  if (!sent) {
    Error error = sent.error();
    error.hint += fmt::format("{}Nothing is lost: `iotrc --resume-upload {}` with the same "
                              "target sends what is missing.",
                              error.hint.empty() ? "" : " ", shell_word(tree.native()));
    return std::unexpected(std::move(error));
  }
  say(console, kFace,
      fmt::format("{} files uploaded to {}", *sent,
                  options.upload.where.empty() ? "the addresses of " + options.upload.urls_file
                                               : serve::shown_url(options.upload.where)));
  return {};
}

Result<void> finish_tree(const cli::Console& console, const TracingOptions& options,
                         const fs::path& trace) {
  const auto written = write_tree(options, trace);
  if (!written) {
    Error error = written.error();
    error.hint = fmt::format("The recording is whole: `iotrail export {} --to iotrc -o DIRECTORY` "
                             "writes the tree.",
                             trace.stem().native());
    return std::unexpected(std::move(error));
  }
  if (options.is_verbose)
    for (const auto& [stream, rows] : written->rows)
      say(console, kFace, fmt::format("{}: {} rows", stream, rows));
  say(console, kFace, (fs::path(options.output) / written->session).native());
  return options.upload.is_none() ? Result<void>()
                                  : upload_session(console, options, written->session);
}

Result<void> check(TracingOptions& options) {
  if (!options.command.empty())
    if (const auto found = capture::find_command(options.command.front()); !found)
      return std::unexpected(found.error());
  std::error_code error;
  if (options.output.empty())
    options.output = fs::temp_directory_path(error);
  if (auto checked = check_directory("-o", options.output); !checked)
    return checked;
  if (options.takes_snapshots && !fs::is_directory(options.root, error))
    return fail_errno(fmt::format("--snapshot-root {}", options.root),
                      error ? error.value() : ENOTDIR);
  return check_upload(options.upload);
}

} // namespace

capture::RecordingRequest request_of(const TracingOptions& options, StreamChoice streams) {
  capture::RecordingRequest request;
  capture::Filter& filter = request.filter;
  filter.layers = {schema::Layer::syscall, schema::Layer::async, schema::Layer::block,
                   schema::Layer::process};
  if (streams.cache)
    filter.layers.push_back(schema::Layer::cache);
  if (streams.network)
    filter.layers.push_back(schema::Layer::net);
  filter.excludes_pseudo = true;
  filter.whole_system = options.command.empty();
  request.command = options.command;
  request.limits.time_ns = options.seconds * kNsPerSecond;
  if (options.takes_snapshots) {
    filter.layers.push_back(schema::Layer::snapshot);
    request.snapshot.wanted = {
        {.kind = snapshot_kind("system"), .root = {}, .period_ns = 0},
        {.kind = snapshot_kind("process"), .root = {}, .period_ns = kProcessPeriodNs},
        {.kind = snapshot_kind("fs"), .root = options.root, .period_ns = kFilesPeriodNs}};
  }
  return request;
}

Result<int> resume_upload(const cli::Console& console, TracingOptions options,
                          const std::string& tree) {
  if (options.upload.is_none())
    return fail_usage("--resume-upload needs a target", {}, "Give --upload or --upload-urls.");
  if (auto checked = check_upload(options.upload); !checked)
    return std::unexpected(checked.error());
  std::error_code error;
  const fs::path path = fs::canonical(tree, error);
  if (error)
    return fail_errno(fmt::format("--resume-upload {}", tree), error.value());
  const fs::path top = path.parent_path().parent_path(); // linux_v1/MACHINE/SESSION
  if (top.filename() != "linux_v1" || !fs::is_directory(path))
    return fail_usage(fmt::format("--resume-upload {}", tree), "it is no tree of iotrc",
                      "Name the directory that iotrc printed: .../linux_v1/MACHINE/DATE.");
  options.output = top.parent_path().native();
  auto done = upload_session(console, options, path.lexically_relative(options.output).native());
  return done ? Result<int>(0) : std::unexpected(done.error());
}

Result<int> trace(const cli::Console& console, TracingOptions options) {
  if (auto checked = check(options); !checked)
    return std::unexpected(checked.error());
  auto machine = machine_id();
  if (!machine)
    return std::unexpected(machine.error());
  options.tree.machine = std::move(*machine);
  const Resources resources = resources_of_machine();
  const StreamChoice streams = choose_streams(resources, options.streams);
  if (options.is_verbose)
    describe(console, resources, streams);
  capture::RecordingRequest request = request_of(options, streams);
  request.trace = store::new_trace_path({}, kFace);
  const auto on_begin = [&](const auto&, const auto& refusals) {
    cli::print_if_open(console.err, [&] { cli::print_begin(console.err, false, refusals); });
    if (options.command.empty())
      say(console, kFace, "tracing started; Ctrl-C ends it");
  };
  const auto end = capture::record_in_foreground(
      capture::recorder_options(request), capture::make_sources(request), on_begin,
      capture::Until::they_end, [&] { cli::print_disk_wait(console.err); });
  if (!end)
    return std::unexpected(end.error());
  if (end->failure)
    return std::unexpected(*end->failure);
  cli::print_if_open(console.err, [&] { cli::print_warnings_of(console.err, end->manifest); });
  if (auto done = finish_tree(console, options, request.trace); !done)
    return std::unexpected(done.error());
  if (end->command_status)
    return *end->command_status;
  return options.command.empty() ? static_cast<int>(cli::Exit::ok) : 128 + end->stop_signal;
}

} // namespace iotrail::compat::iotrc
