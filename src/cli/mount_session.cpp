// SPDX-License-Identifier: BSD-3-Clause
#include "cli/mount_session.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "capture/session/foreground.hpp"
#include "cli/exit.hpp"
#include "cli/messages.hpp"
#include "cli/record_messages.hpp"
#include "report/documents/recording.hpp"
#include "text/printable.hpp"

namespace iotrail::cli {
namespace {

namespace fs = std::filesystem;

fs::path without_links(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  return error ? fs::absolute(path) : whole;
}

// Its writer would wait for the mount, and the mount for the writer.
Result<void> check_trace(const capture::RecordingRequest& request) {
  for (const fs::path* file : {&request.trace, &request.mount.text}) {
    if (file->empty())
      continue;
    const fs::path directory = without_links(fs::absolute(*file).parent_path());
    const fs::path& point = request.mount.point;
    if (std::ranges::mismatch(point, directory).in1 == point.end())
      return fail(fmt::format("cannot write {}", file->native()),
                  fmt::format("it is below the mount point {}", point.native()),
                  "Name a file elsewhere.");
  }
  return {};
}

std::vector<std::string> filters_text(const capture::RecordingRequest& request) {
  std::vector<std::string> words{fmt::format("mount of {} at {}", request.mount.backend.native(),
                                             request.mount.point.native())};
  if (request.mount.caches)
    words.emplace_back("--cache");
  return words;
}

Result<void> print_end_of_mount(const Console& console, const capture::ForegroundOutcome& end,
                                const capture::RecordingRequest& request,
                                const MountSession& session, SummaryOutput& output) {
  if (end.failure)
    print_if_open(console.err, [&] { print_failure(console.err, *end.failure); });
  if (session.quiet) {
    print_if_open(console.err, [&] { print_warnings_of(console.err, end.manifest); });
    return {};
  }
  const output::Document document =
      output::make_recording_summary(end.manifest, {.trace = request.trace});
  const Result<void> printed =
      output.finish(document, session.summary.json ? DocumentFormat::json : DocumentFormat::text);
  return printed || output.is_file() ? printed : Result<void>();
}

} // namespace

capture::RecordingRequest mount_request(const fs::path& backend, const fs::path& point) {
  capture::RecordingRequest request;
  request.filter.layers = {schema::Layer::fuse};
  request.limits.until_sources_end = true;
  request.mount.backend = without_links(backend);
  request.mount.point = without_links(point);
  return request;
}

Result<int> serve_mount(const Console& console, const capture::RecordingRequest& request,
                        std::vector<std::unique_ptr<capture::Source>> sources,
                        const MountSession& session) {
  if (Result<void> checked = check_trace(request); !checked)
    return std::unexpected(checked.error());
  auto output = SummaryOutput::open(console.err, session.summary);
  if (!output)
    return std::unexpected(output.error());
  capture::RecorderOptions recorder = capture::recorder_options(request);
  recorder.filters_text = filters_text(request);
  const auto on_begin = [&](const auto&, const auto&) {
    if (!session.quiet)
      print_if_open(console.err, [&] {
        print_message(console.err, fmt::format("iotrail: {} is mounted at {}; Ctrl-C unmounts it",
                                               output::printable(request.mount.backend.native()),
                                               output::printable(request.mount.point.native())));
      });
  };
  const auto end = capture::record_in_foreground(recorder, std::move(sources), on_begin,
                                                 capture::Until::they_end);
  if (!end)
    return std::unexpected(end.error());
  if (const Result<void> printed = print_end_of_mount(console, *end, request, session, *output);
      !printed)
    return std::unexpected(printed.error());
  return static_cast<int>(end->failure ? exit_of(*end->failure) : Exit::ok);
}

} // namespace iotrail::cli
