// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include "capture/session/foreground.hpp"
#include "capture/sources/sources.hpp"
#include "cli/exit.hpp"
#include "cli/messages.hpp"
#include "cli/options/snapshot_options.hpp"
#include "cli/options/trace_options.hpp"
#include "cli/record_messages.hpp"
#include "cli/summary_output.hpp"
#include "cli/verb.hpp"
#include "report/documents/recording.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::cli {
namespace {

constexpr const char* kDefaultRoot = "/";

struct Options {
  std::string output;
  std::vector<std::string> kinds;
  std::vector<std::string> since;
  std::vector<std::string> roots;
  std::vector<std::string> tags;
  SummaryOptions summary;
  bool no_arguments = false;
  bool quiet = false;
};

// Of what --of names, else of all; of a path or a trace to go on from, file systems only.
Result<std::vector<iot_u32>> wanted_kinds(const Options& options) {
  std::vector<iot_u32> kinds;
  for (const std::string& name : options.kinds) {
    const auto kind = parse_snapshot_kind("--of", name);
    if (!kind)
      return std::unexpected(kind.error());
    kinds.push_back(*kind);
  }
  const bool names_files = !options.roots.empty() || !options.since.empty();
  if (kinds.empty() && names_files)
    return std::vector<iot_u32>{IOT_snapshot_kind_fs};
  if (kinds.empty())
    return std::vector<iot_u32>{IOT_snapshot_kind_system, IOT_snapshot_kind_process,
                                IOT_snapshot_kind_fs};
  if (names_files && std::ranges::find(kinds, IOT_snapshot_kind_fs) == kinds.end())
    return fail_usage("--of: paths and --since are for snapshots of file systems",
                      "and fs is not among the kinds");
  return kinds;
}

Result<capture::SnapshotOptions> snapshot_options(const Options& options) {
  const auto kinds = wanted_kinds(options);
  if (!kinds)
    return std::unexpected(kinds.error());
  capture::SnapshotOptions snapshot;
  for (const std::string& name : options.since) {
    auto trace = store::find_trace(name);
    if (!trace)
      return std::unexpected(trace.error());
    snapshot.since.push_back(std::move(*trace));
  }
  for (const iot_u32 kind : *kinds) {
    if (kind != IOT_snapshot_kind_fs)
      snapshot.wanted.push_back({.kind = kind, .root = {}});
    else if (options.roots.empty())
      snapshot.wanted.push_back({.kind = kind, .root = options.since.empty() ? kDefaultRoot : ""});
    for (const std::string& root : options.roots)
      if (kind == IOT_snapshot_kind_fs)
        snapshot.wanted.push_back({.kind = kind, .root = root});
  }
  return snapshot;
}

std::vector<std::string> filters_text(const Options& options,
                                      const capture::SnapshotOptions& snapshot) {
  std::vector<std::string> words;
  for (const capture::SnapshotWanted& wanted : snapshot.wanted)
    words.push_back(fmt::format("--of {}{}{}", schema::value_name("snapshot_kind", wanted.kind),
                                wanted.root.empty() ? "" : " ", wanted.root.native()));
  for (const std::string& trace : options.since)
    words.push_back("--since " + trace);
  return words;
}

Result<capture::RecordingRequest> request_of(const Options& options) {
  auto snapshot = snapshot_options(options);
  if (!snapshot)
    return std::unexpected(snapshot.error());
  if (Result<void> checked = check_output(options.output); !checked)
    return std::unexpected(checked.error());
  auto tags = parse_tags(options.tags);
  if (!tags)
    return std::unexpected(tags.error());
  capture::RecordingRequest request;
  request.filter.layers = {schema::Layer::snapshot};
  request.drop_arguments = options.no_arguments;
  request.limits.until_sources_end = true;
  request.snapshot = std::move(*snapshot);
  request.trace = store::new_trace_path(options.output, "snapshot");
  request.tags = std::move(*tags);
  return request;
}

// A summary on a closed standard error is no failure: what it reports has been done.
Result<void> print_end_of_snapshot(const Console& console, const store::Manifest& manifest,
                                   const std::filesystem::path& trace, const Options& options,
                                   SummaryOutput& output) {
  if (options.quiet) {
    print_if_open(console.err, [&] { print_warnings_of(console.err, manifest); });
    return {};
  }
  const output::Document document = output::make_recording_summary(
      manifest, {.trace = trace, .next = "iotrail report {}", .is_snapshot = true});
  const Result<void> printed =
      output.finish(document, options.summary.json ? DocumentFormat::json : DocumentFormat::text);
  return printed || output.is_file() ? printed : Result<void>();
}

Result<int> take_snapshot(const Console& console, const Options& options) {
  const auto request = request_of(options);
  if (!request)
    return std::unexpected(request.error());
  auto output = SummaryOutput::open(console.err, options.summary);
  if (!output)
    return std::unexpected(output.error());
  capture::RecorderOptions recorder = capture::recorder_options(*request);
  recorder.filters_text = filters_text(options, request->snapshot);
  const auto end = capture::record_in_foreground(
      recorder, capture::make_sources(*request), [](const auto&, const auto&) {},
      capture::Until::they_end);
  if (!end)
    return std::unexpected(end.error());
  if (const Result<void> printed =
          print_end_of_snapshot(console, end->manifest, request->trace, options, *output);
      !printed)
    return std::unexpected(printed.error());
  return end->stop_signal == 0 ? static_cast<int>(Exit::ok) : 128 + end->stop_signal;
}

Action declare_snapshot(CLI::App& app, const Trailing&) {
  auto options = std::make_shared<Options>();
  app.add_option("path", options->roots,
                 "Directories to walk; other file systems below them are skipped; default: / or, "
                 "with --since, the directories of that trace")
      ->type_name("DIRECTORY");
  app.add_option("-o,--output", options->output,
                 "Name of the trace in the repository, or a path (with a `/`, or ending in "
                 ".iotrail); default: snapshot and time")
      ->type_name("NAME");
  app.add_option("--of", options->kinds,
                 fmt::format("What to take: {}, separated by commas; default: all or, with a path "
                             "or --since, fs",
                             snapshot_kinds()))
      ->type_name("KIND")
      ->allow_extra_args(false) // a path may follow
      ->delimiter(',');
  app.add_option("--since", options->since,
                 "Only changes since this trace: new, changed and removed files. If that trace is "
                 "such a delta itself, name the traces before it first, separated by commas")
      ->type_name("TRACE")
      ->allow_extra_args(false)
      ->delimiter(',');
  app.add_option("--tag", options->tags, "NAME=VALUE to store with the trace; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  declare_no_arguments(app, options->no_arguments);
  CLI::Option* quiet =
      app.add_flag("-q,--quiet", options->quiet, "Print no summary; losses are reported anyway");
  declare_summary(app, options->summary);
  quiet->excludes(app.get_option("--json"))->excludes(app.get_option("--summary"));
  app.footer("After an interrupt the trace keeps what was read so far; --since completes it.");
  return [options](const Console& console) { return take_snapshot(console, *options); };
}

} // namespace

extern const Verb kVerbSnapshot = {
    .name = "snapshot",
    .summary = "Save the state of the machine: files, processes, disks, settings",
    .group = Group::record,
    .rank = 2,
    .declare = declare_snapshot,
    .examples = "  iotrail snapshot -o before --of fs /srv\n"
                "  iotrail snapshot --since before       # the changes since then\n",
};

} // namespace iotrail::cli
