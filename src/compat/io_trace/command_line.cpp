// SPDX-License-Identifier: BSD-3-Clause
#include "compat/io_trace/command_line.hpp"

#include <ctime>
#include <filesystem>

#include <fmt/format.h>

#include "capture/fuse/fuse_source.hpp"
#include "capture/sources/sources.hpp"
#include "cli/mount_session.hpp"
#include "compat/shared/face_options.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::compat::io_trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFace = "io_trace.py";

struct Options {
  std::string point;
  std::string backend;
  bool flushes = false;
  bool clears = false;
};

// A directory and those above it. Removes what it made, and is still empty, unless it is kept.
class MadeDirectories {
public:
  MadeDirectories() = default;
  MadeDirectories(const MadeDirectories&) = delete;
  MadeDirectories& operator=(const MadeDirectories&) = delete;
  ~MadeDirectories() {
    std::error_code ignored;
    for (; !made_.empty(); made_.pop_back())
      fs::remove(made_.back(), ignored);
  }

  Result<void> make(const fs::path& path) {
    std::error_code error;
    if (fs::exists(path, error))
      return {};
    const fs::path above = path.parent_path();
    if (!above.empty() && above != path)
      if (auto done = make(above); !done)
        return done;
    if (fs::create_directory(path, error))
      made_.push_back(path);
    return error ? fail_errno(fmt::format("cannot make the directory {}", path.native()),
                              error.value())
                 : Result<void>();
  }
  void keep() { made_.clear(); }

private:
  std::vector<fs::path> made_;
};

// "20181019-131053.trace", in local time
std::string name_of_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  return fmt::format("{:04}{:02}{:02}-{:02}{:02}{:02}.trace", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Result<void> clear(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error)
    return fail_errno(fmt::format("--clear: cannot remove {}", path.native()), error.value());
  fs::create_directory(path, error);
  return error
             ? fail_errno(fmt::format("cannot make the directory {}", path.native()), error.value())
             : Result<void>();
}

// Nothing is removed before the mount is known to be possible.
Result<capture::RecordingRequest> prepare(const Options& options) {
  const fs::path backend = fs::absolute(options.backend).lexically_normal();
  const fs::path root = backend / "root";
  const fs::path traces = backend / "trace";
  MadeDirectories made;
  for (const fs::path& path : {fs::absolute(options.point).lexically_normal(), root, traces})
    if (auto done = made.make(path); !done)
      return std::unexpected(done.error());
  capture::RecordingRequest request = cli::mount_request(root, options.point);
  if (auto checked = capture::check_mount(request.mount); !checked)
    return std::unexpected(checked.error());
  if (options.clears)
    for (const fs::path& path : {root, traces})
      if (auto done = clear(path); !done)
        return std::unexpected(done.error());
  request.mount.text = traces / name_of_text();
  request.mount.flushes_text = options.flushes;
  request.trace = store::new_trace_path({}, "io_trace");
  made.keep();
  return request;
}

Result<int> run_words(const cli::Console& console, const std::vector<std::string>& arguments) {
  FaceParser parser(std::string(kFace), "Collect IO events, as IOTraceCollector does.",
                    "-m MOUNTPOINT -b BACKEND [-f] [-c]");
  Options options;
  CLI::App& app = parser.app();
  app.add_option("-m,--mountpoint", options.point,
                 "Directory to use as mount point; made if it is missing")
      ->type_name("DIRECTORY")
      ->required();
  app.add_option("-b,--backend", options.backend,
                 "Directory with the files, in root/, and the lines, in trace/; made if missing")
      ->type_name("DIRECTORY")
      ->required();
  app.add_flag("-f,--flush", options.flushes, "Write each line before its call continues");
  app.add_flag("-c,--clear", options.clears, "Remove all files and all lines of the backend first");
  app.footer("The mount stays until Ctrl-C, or until `fusermount3 -u MOUNTPOINT`.");
  const auto parsed = parser.parse(console, arguments);
  if (!parsed)
    return std::unexpected(parsed.error());
  if (!*parsed)
    return 0;
  const auto request = prepare(options);
  if (!request)
    return std::unexpected(request.error());
  return cli::serve_mount(console, *request, capture::make_sources(*request), {});
}

} // namespace

Result<int> run(const cli::Console& console, const std::vector<std::string>& arguments) {
  return finish(console, kFace, run_words(console, arguments));
}

} // namespace iotrail::compat::io_trace
