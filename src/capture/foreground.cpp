// SPDX-License-Identifier: BSD-3-Clause
#include "capture/foreground.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "capture/cgroups.hpp"
#include "capture/command.hpp"
#include "capture/containers.hpp"
#include "capture/signals.hpp"

namespace iotrail::capture {
namespace {

constexpr std::uint64_t kSameSignalNs = 100'000'000;
constexpr std::uint64_t kTargetCheckNs = 100'000'000;
constexpr int kRecorderNice = -10; // losing events costs the user more than a little CPU

// The processes and control groups named by the filter: a recording of them, and of nothing else, ends when they do.
class TargetWatch {
public:
  explicit TargetWatch(const Filter& filter);
  bool have_all_ended() const;
  std::string reason() const; // why the recording ends

private:
  void watch_process(pid_t pid);
  void watch_group(const Result<std::filesystem::path>& group);

  bool knows_all_ = true;     // false: of one at least this kernel does not tell the end
  std::vector<Fd> processes_; // no descriptor: it had ended before
  std::vector<Fd> groups_;
};

TargetWatch::TargetWatch(const Filter& filter) {
  for (const pid_t pid : filter.pids)
    watch_process(pid);
  for (const std::string& path : filter.wanted.cgroups)
    watch_group(find_cgroup(path));
  for (const std::string& container : filter.wanted.containers)
    watch_group(find_container(container));
}

void TargetWatch::watch_process(pid_t pid) {
  processes_.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!processes_.back() && errno != ESRCH)
    knows_all_ = false;
}

// The group at the root has no such file, and no end.
void TargetWatch::watch_group(const Result<std::filesystem::path>& group) {
  groups_.emplace_back(group ? ::open((*group / "cgroup.events").c_str(), O_RDONLY | O_CLOEXEC)
                             : -1);
  if (group && !groups_.back() && std::filesystem::exists(*group))
    knows_all_ = false;
}

bool TargetWatch::have_all_ended() const {
  const auto has_ended = [](const Fd& process) {
    pollfd poll{.fd = process.get(), .events = POLLIN, .revents = 0};
    return !process || ::poll(&poll, 1, 0) > 0;
  };
  const auto is_removed = [](const Fd& group) {
    char byte = 0;
    return !group || (::pread(group.get(), &byte, 1, 0) < 0 && errno == ENODEV);
  };
  return knows_all_ && !(processes_.empty() && groups_.empty()) &&
         std::ranges::all_of(processes_, has_ended) && std::ranges::all_of(groups_, is_removed);
}

std::string TargetWatch::reason() const {
  const auto text = [](std::size_t count, const char* one, const char* several) {
    return std::string(count == 0 ? "" : count == 1 ? one : several);
  };
  const std::string processes = text(processes_.size(), "process ended", "processes ended");
  const std::string groups =
      text(groups_.size(), "control group removed", "control groups removed");
  return processes + (processes.empty() || groups.empty() ? "" : ", ") + groups;
}

class Foreground {
public:
  Foreground(SignalQueue signals, Until until) : signals_(std::move(signals)), until_(until) {}

  Result<void> begin(RecorderOptions options, std::vector<std::unique_ptr<Source>> sources,
                     const OnBegin& on_begin);
  void record();
  Result<ForegroundEnd> end();

private:
  Result<void> suspend_command(RecorderOptions& options);
  bool handle(const SignalQueue::Signal& signal);
  bool have_targets_ended(std::uint64_t now_ns);
  bool goes_on();

  bool follows() const { return until_ == Until::all_end; }

  SignalQueue signals_;
  Until until_;
  bool have_they_ended_ = false; // the command, or the processes and control groups named
  bool was_last_seen_running_ = true;
  std::optional<Command> command_;
  std::unique_ptr<Recorder> recorder_;
  std::optional<TargetWatch> watch_;
  std::uint64_t next_target_check_ns_ = 0;
  int stop_signal_ = 0;
  std::uint64_t signalled_ns_ = 0;
  std::string stop_reason_;
};

Result<void> Foreground::suspend_command(RecorderOptions& options) {
  if (options.command.empty())
    return {};
  Result<std::filesystem::path> file = find_command(options.command.front());
  if (!file)
    return std::unexpected(file.error());
  Result<Command> command = Command::suspend(*file, options.command);
  if (!command)
    return std::unexpected(command.error());
  command_.emplace(std::move(*command));
  options.source.program = *file;
  options.source.filter.tree_root = command_->pid();
  options.source.filter.tree_from_exec = true; // what the child does before is the recorder's own
  return {};
}

Result<void> Foreground::begin(RecorderOptions options,
                               std::vector<std::unique_ptr<Source>> sources,
                               const OnBegin& on_begin) {
  if (Result<void> suspended = suspend_command(options); !suspended)
    return suspended;
  // A file that may not grow is an error to be told; the command, forked before, has the signal as it was.
  ::signal(SIGXFSZ, SIG_IGN);
  const Filter filter = options.source.filter;
  auto recorder = Recorder::open(std::move(options), std::move(sources));
  if (!recorder)
    return std::unexpected(recorder.error());
  recorder_ = std::move(*recorder);
  // Best effort: without the privilege we stay as we are. The command has been forked, the writer's thread has not begun.
  ::setpriority(PRIO_PROCESS, 0, kRecorderNice);
  if (Result<void> started = recorder_->start(); !started)
    return started;
  watch_.emplace(filter);
  on_begin(recorder_->manifest(), recorder_->refusals());
  if (!command_)
    return {};
  Result<void> released = command_->release(recorder_->child_environment());
  if (!released)
    recorder_->discard();
  return released;
}

// Whether the recording goes on.
bool Foreground::handle(const SignalQueue::Signal& signal) {
  if (signal.number == SIGCHLD) {
    if (!command_ || !command_->poll_status())
      return true;
    if (stop_reason_.empty())
      stop_reason_ = "command ended";
    have_they_ended_ = true;
    return follows() && stop_signal_ == 0;
  }
  // Who signals a process and then its group sends the same signal twice.
  const std::uint64_t now_ns = monotonic_ns();
  if (signal.number == stop_signal_ && now_ns - signalled_ns_ < kSameSignalNs)
    return true;
  signalled_ns_ = now_ns;
  const bool again = stop_signal_ != 0;
  stop_signal_ = signal.number;
  stop_reason_ = fmt::format("interrupted ({})", strsignal(signal.number));
  if (again || !command_ || have_they_ended_)
    return false;
  if (!signal.from_terminal)
    command_->signal(signal.number);
  return true;
}

bool Foreground::have_targets_ended(std::uint64_t now_ns) {
  if (now_ns < next_target_check_ns_)
    return false;
  next_target_check_ns_ = now_ns + kTargetCheckNs;
  if (!have_they_ended_ && watch_->have_all_ended()) {
    stop_reason_ = watch_->reason();
    have_they_ended_ = true;
  }
  return have_they_ended_ && (!follows() || !goes_on());
}

// Looked at twice: the word of a new process may be on its way.
bool Foreground::goes_on() {
  const bool is_running = !recorder_->still_running().empty();
  const bool goes_on = is_running || was_last_seen_running_;
  was_last_seen_running_ = is_running;
  if (!goes_on)
    stop_reason_ += ", and all that it started";
  return goes_on;
}

void Foreground::record() {
  Step step = Step::busy;
  while (step != Step::ended) {
    const auto signal = signals_.wait(wait_ms(step));
    const std::uint64_t now_ns = monotonic_ns();
    step = recorder_->step(now_ns);
    if ((signal && !handle(*signal)) || have_targets_ended(now_ns))
      return;
  }
}

Result<ForegroundEnd> Foreground::end() {
  const std::optional<int> status = command_ ? command_->poll_status() : std::nullopt;
  if (command_ && !status && stop_signal_ != 0)
    stop_reason_ += "; the command goes on";
  Result<void> stopped =
      recorder_->stop({.reason = stop_reason_, .command_status = status.value_or(-1)});
  if (!stopped)
    return std::unexpected(stopped.error());
  if (command_ && stop_signal_ == 0)
    command_->wait_status(); // a limit ended the recording only
  return ForegroundEnd{.manifest = recorder_->manifest(),
                       .command_status = command_ ? command_->poll_status() : std::nullopt,
                       .stop_signal = stop_signal_};
}

} // namespace

Result<ForegroundEnd> record_in_foreground(RecorderOptions options,
                                           std::vector<std::unique_ptr<Source>> sources,
                                           const OnBegin& on_begin, Until until) {
  Result<SignalQueue> signals = SignalQueue::open();
  if (!signals)
    return std::unexpected(signals.error());
  Foreground foreground(std::move(*signals), until);
  if (Result<void> begun = foreground.begin(std::move(options), std::move(sources), on_begin);
      !begun)
    return std::unexpected(begun.error());
  foreground.record();
  return foreground.end();
}

} // namespace iotrail::capture
