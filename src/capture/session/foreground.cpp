// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/foreground.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "capture/session/command.hpp"
#include "capture/session/inheritance.hpp"
#include "capture/session/target_watch.hpp"

namespace iotrail::capture {
namespace {

constexpr std::uint64_t kSameSignalNs = 100'000'000;
constexpr std::uint64_t kTargetCheckNs = 100'000'000;
constexpr std::chrono::seconds kDiskPatience{2};
constexpr int kCheckMs = 100;
constexpr int kRecorderNice = -10; // losing events costs the user more than a little CPU

class Foreground {
public:
  Foreground(SignalQueue signals, Until until, OnDiskWait on_disk_wait)
      : signals_(std::move(signals)), until_(until), on_disk_wait_(std::move(on_disk_wait)) {}

  Result<void> begin(RecorderOptions options, std::vector<std::unique_ptr<Source>> sources,
                     const OnBegin& on_begin);
  void record();
  ForegroundOutcome end();

private:
  Result<void> suspend_command(RecorderOptions& options);
  bool handle(const SignalQueue::Signal& signal);
  Result<void> stop();
  void wait_for_command();
  bool have_targets_ended(std::uint64_t now_ns);
  bool goes_on();

  bool follows() const { return until_ == Until::all_end; }

  SignalQueue signals_;
  Until until_;
  OnDiskWait on_disk_wait_;
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
  options.source.arguments = options.command;
  options.source.filter.tree_root = command_->pid();
  // The recorder itself causes the child's I/O before exec.
  options.source.filter.tree_from_exec = true;
  return {};
}

Result<void> Foreground::begin(RecorderOptions options,
                               std::vector<std::unique_ptr<Source>> sources,
                               const OnBegin& on_begin) {
  if (Result<void> suspended = suspend_command(options); !suspended)
    return suspended;
  ::signal(SIGPIPE, SIG_IGN); // the reader of our output may stop; the command is already forked
  const Filter filter = options.source.filter;
  auto recorder = Recorder::open(std::move(options), std::move(sources));
  if (!recorder)
    return std::unexpected(recorder.error());
  recorder_ = std::move(*recorder);
  // Best effort: without the privilege the priority stays. The command is already forked, and the
  // writer's thread has not begun.
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

// Returns whether the recording continues.
bool Foreground::handle(const SignalQueue::Signal& signal) {
  if (signal.number == SIGCHLD) {
    if (!command_ || !command_->poll_status())
      return true;
    if (stop_reason_.empty())
      stop_reason_ = "command ended";
    have_they_ended_ = true;
    return follows() && stop_signal_ == 0;
  }
  // A user may signal a process and then its group, which delivers the same signal twice.
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

// Needs two looks: the report of a new process may be on its way.
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

// Closing the trace takes as long as its disk wants. After some time the user learns that, and a signal ends us at once.
class DiskPatience {
public:
  DiskPatience(SignalQueue& signals, const OnDiskWait& on_wait) : signals_(signals) {
    try {
      watch_ =
          std::jthread([this, &on_wait](const std::stop_token& stop) { watch(stop, on_wait); });
    } catch (const std::system_error&) { // no thread: then signals wait too
    }
  }

private:
  void watch(const std::stop_token& stop, const OnDiskWait& on_wait) {
    {
      std::unique_lock lock(mutex_);
      if (std::condition_variable_any().wait_for(lock, stop, kDiskPatience,
                                                 [&] { return stop.stop_requested(); }))
        return;
    }
    while (signals_.wait(0)) // those asked for the end, which has come
      continue;
    if (on_wait)
      on_wait();
    while (!stop.stop_requested())
      if (const auto signal = signals_.wait(kCheckMs); signal && signal->number != SIGCHLD)
        die_of(signal->number);
  }

  static void die_of(int number) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    ::signal(number, SIG_DFL);
    ::raise(number);
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  }

  SignalQueue& signals_;
  std::mutex mutex_;
  std::jthread watch_;
};

Result<void> Foreground::stop() {
  const std::optional<int> status = command_ ? command_->poll_status() : std::nullopt;
  if (command_ && !status && stop_signal_ != 0)
    stop_reason_ += "; the command still runs";
  const DiskPatience patience(signals_, on_disk_wait_);
  return recorder_->stop({.reason = stop_reason_,
                          .command_status = status.value_or(-1),
                          .command_cpu = command_ ? command_->cpu_time() : CpuTime{}});
}

// Of a recording that ended before its command.
void Foreground::wait_for_command() {
  while (!command_->poll_status())
    if (const auto signal = signals_.wait(kCheckMs); signal && !handle(*signal))
      return;
}

ForegroundOutcome Foreground::end() {
  const Result<void> stopped = stop();
  if (command_ && stop_signal_ == 0)
    wait_for_command();
  return ForegroundOutcome{.manifest = recorder_->manifest(),
                           .failure = stopped ? std::nullopt : std::optional(stopped.error()),
                           .command_status = command_ ? command_->poll_status() : std::nullopt,
                           .stop_signal = stop_signal_,
                           .signals = std::move(signals_)};
}

} // namespace

Result<ForegroundOutcome> record_in_foreground(RecorderOptions options,
                                               std::vector<std::unique_ptr<Source>> sources,
                                               const OnBegin& on_begin, Until until,
                                               OnDiskWait on_disk_wait) {
  (void)Inheritance::of_this_process(); // before signals are blocked
  Result<SignalQueue> signals = SignalQueue::open();
  if (!signals)
    return std::unexpected(signals.error());
  Foreground foreground(std::move(*signals), until, std::move(on_disk_wait));
  if (Result<void> begun = foreground.begin(std::move(options), std::move(sources), on_begin);
      !begun)
    return std::unexpected(begun.error());
  foreground.record();
  return foreground.end();
}

} // namespace iotrail::capture
