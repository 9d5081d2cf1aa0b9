// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "import/import_format.hpp"

namespace iotrail::import {

extern const ImportFormat kImportFormatPerf;

namespace {

constexpr std::string_view kPerfMagic = "PERFILE2";

bool is_perf_data(std::string_view head, std::string_view) {
  return head.starts_with(kPerfMagic);
}

std::unexpected<Error> perf_failed(const std::string& path, std::string why) {
  return fail(fmt::format("cannot import {}", path), std::move(why),
              "perf script -F +pid,+tid > p.txt, where perf works, gives text to import.");
}

// Ends and is waited for when the object goes.
class PerfScript {
public:
  // The text comes from `output`, a pipe.
  static Result<PerfScript> start(const std::string& path) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return fail_errno("cannot make a pipe");
    PerfScript script;
    script.output = Fd(ends[0]);
    const Fd input(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    std::vector<std::string> words = {
        "perf", "script", "--force", "-i", path, "-F", "comm,pid,tid,cpu,time,event,trace", "--ns"};
    std::vector<char*> arguments;
    for (std::string& word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int code =
        ::posix_spawnp(&script.pid_, "perf", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code == ENOENT)
      return perf_failed(path, "its reader, perf, is not installed");
    if (code != 0)
      return fail_errno("cannot start perf", code);
    return script;
  }

  PerfScript(PerfScript&& other) noexcept
      : output(std::move(other.output)), pid_(std::exchange(other.pid_, 0)) {}
  PerfScript& operator=(PerfScript&&) = delete;
  ~PerfScript() {
    output.reset(); // a perf that still writes ends by SIGPIPE
    (void)wait();
  }

  bool wait() {
    int status = 0;
    if (pid_ == 0)
      return true;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR)
      continue;
    pid_ = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  Fd output;

private:
  PerfScript() = default;
  pid_t pid_ = 0;
};

Result<void> read_perf_data(std::span<Input> inputs, TraceBuilder& trace) {
  for (const Input& input : inputs) {
    if (input.path() == "-")
      return perf_failed("standard input", "perf.data has to be a file");
    auto script = PerfScript::start(std::filesystem::absolute(input.path()).native());
    if (!script)
      return std::unexpected(script.error());
    auto text = Input::open(fmt::format("/proc/self/fd/{}", script->output.get()));
    if (!text)
      return std::unexpected(text.error());
    std::vector<Input> texts;
    texts.push_back(std::move(*text));
    if (auto read = kImportFormatPerf.read(texts, trace); !read)
      return read;
    texts.clear();
    if (!trace.is_stopped() && !script->wait())
      return perf_failed(input.path(), "perf script cannot read it");
  }
  return {};
}

} // namespace

extern const ImportFormat kImportFormatPerfdata = {
    .name = "perf-data",
    .doc = "perf record of the tracepoints of block and syscalls; perf script reads it",
    .lacks = "files and paths of system calls; names of devices",
    .recognizes = is_perf_data,
    .read = read_perf_data,
};

} // namespace iotrail::import
