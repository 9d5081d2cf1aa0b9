// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <memory>

#include "capture/fuse/fuse_source.hpp"
#include "capture/sources/sources.hpp"
#include "cli/mount_session.hpp"
#include "cli/options/trace_options.hpp"
#include "cli/summary_output.hpp"
#include "cli/verb.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::cli {
namespace {

struct Options {
  std::string backend;
  std::string point;
  std::string output;
  std::string text;
  std::vector<std::string> tags;
  MountSession session;
  bool flush = false;
  bool unpadded = false;
  bool cache = false;
  bool no_arguments = false;
};

Result<capture::RecordingRequest> request_of(const Options& options) {
  capture::RecordingRequest request = mount_request(options.backend, options.point);
  request.mount.caches = options.cache;
  if (!options.text.empty())
    request.mount.text = std::filesystem::absolute(options.text);
  request.mount.flushes_text = options.flush;
  request.mount.pads_text = !options.unpadded;
  request.drop_arguments = options.no_arguments;
  if (options.text.empty() && (options.flush || options.unpadded))
    return fail_usage("--flush and --compat-unpadded are about the lines of --text",
                      "there is no --text");
  if (Result<void> checked = capture::check_mount(request.mount); !checked)
    return std::unexpected(checked.error());
  if (Result<void> checked = check_output(options.output); !checked)
    return std::unexpected(checked.error());
  auto tags = parse_tags(options.tags);
  if (!tags)
    return std::unexpected(tags.error());
  request.trace = store::new_trace_path(options.output, "mount");
  request.tags = std::move(*tags);
  return request;
}

Result<int> mount(const Console& console, const Options& options) {
  const auto request = request_of(options);
  if (!request)
    return std::unexpected(request.error());
  return serve_mount(console, *request, capture::make_sources(*request), options.session);
}

Action declare_mount(CLI::App& app, const Trailing&) {
  auto options = std::make_shared<Options>();
  app.add_option("backend", options->backend, "Directory with the files")
      ->type_name("BACKEND")
      ->required();
  app.add_option("point", options->point,
                 "Empty directory at which they appear, outside the backend")
      ->type_name("MOUNTPOINT")
      ->required();
  app.add_option("-o,--output", options->output,
                 "Name of the trace in the repository, or a path (with a `/`, or ending in "
                 ".iotrail); default: mount and time")
      ->type_name("NAME");
  app.add_flag("--cache", options->cache,
               "Let the kernel keep names, attributes (1 s) and pages: faster, but it answers many "
               "calls itself, and these are not recorded");
  app.add_option("--text", options->text,
                 "Also write a line for each call, as IOTraceCollector does, to this new file")
      ->type_name("FILE");
  app.add_flag("--flush", options->flush, "Write each line before its call continues");
  app.add_flag("--compat-unpadded", options->unpadded,
               "Microseconds of these lines without leading zeros, as the original writes them");
  app.add_option("--tag", options->tags, "NAME=VALUE to store with the trace; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  declare_no_arguments(app, options->no_arguments);
  CLI::Option* quiet = app.add_flag("-q,--quiet", options->session.quiet,
                                    "Print no summary; losses are reported anyway");
  declare_summary(app, options->session.summary);
  quiet->excludes(app.get_option("--json"))->excludes(app.get_option("--summary"));
  app.footer("The mount stays until Ctrl-C, or until `fusermount3 -u MOUNTPOINT`. As root, all "
             "users may use it, with the permissions that they have on the files.");
  return [options](const Console& console) { return mount(console, *options); };
}

} // namespace

extern const Verb kVerbMount = {
    .name = "mount",
    .summary = "Mount a directory elsewhere, and record every call on it",
    .group = Group::record,
    .rank = 3,
    .declare = declare_mount,
    .examples = "  iotrail mount /srv/data /mnt/data -o data\n"
                "  iotrail mount --text calls.txt /srv/data /mnt/data\n",
};

} // namespace iotrail::cli
