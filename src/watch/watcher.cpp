// SPDX-License-Identifier: BSD-3-Clause
#include "watch/watcher.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "capture/sources/sources.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::watch {
namespace {

constexpr std::uint64_t kTraceBytes = 32U << 20U; // then another recording begins
constexpr std::uint64_t kSizeCheckNs = 200'000'000;
constexpr std::uint64_t kRetryNs = 1'000'000'000;     // where no recording can begin
constexpr std::uint64_t kOverlapNs = 50'000'000;      // of two recordings, for calls in progress
constexpr std::chrono::milliseconds kStepInterval(1); // while other work is waited for
constexpr int kUnusedWaitMs = 20;

// What the trails need to find who wrote the bytes of a bio.
capture::RecordingRequest request_for(const std::vector<std::string>& paths,
                                      const std::filesystem::path& trace) {
  capture::RecordingRequest request;
  request.filter.layers = {schema::Layer::syscall, schema::Layer::async, schema::Layer::vfs,
                           schema::Layer::cache, schema::Layer::block};
  request.filter.wanted.files = paths;
  request.trace = trace;
  return request;
}

Error over() {
  return {.what = "the watcher ends", .why = {}, .hint = {}};
}

} // namespace

Watcher::Watcher(std::filesystem::path directory, std::size_t entries_most, OnFailure on_failure)
    : directory_(std::move(directory)), entries_most_(entries_most),
      on_failure_(std::move(on_failure)), reader_([this] { fold(); }) {}

Watcher::~Watcher() {
  end();
  reader_.join();
}

// The driving thread: runs what others ask of it, then steps the recording.
int Watcher::step() {
  run_waiting();
  const std::uint64_t now_ns = monotonic_ns();
  int wait_ms = kUnusedWaitMs;
  if (running_) {
    const capture::Step step = running_->recorder->step(now_ns);
    wait_ms = capture::wait_ms(step);
    if (step == capture::Step::ended)
      give_up(running_->recorder->manifest().stop_reason);
  }
  if (now_ns >= next_check_ns_)
    next_check_ns_ = now_ns + (renew() ? kSizeCheckNs : kRetryNs);
  return wait_ms;
}

void Watcher::run_waiting() {
  for (;;) {
    std::shared_ptr<Waiting> next;
    {
      const std::lock_guard lock(state_);
      if (waiting_.empty())
        return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Result<void> result = next->work();
    const std::lock_guard lock(state_);
    next->result = std::move(result);
    changed_.notify_all();
  }
}

Result<void> Watcher::on_driver(const std::function<Result<void>()>& work) {
  std::unique_lock lock(state_);
  if (is_over_)
    return std::unexpected(over());
  const auto waiting = std::make_shared<Waiting>(Waiting{work, std::nullopt});
  waiting_.push_back(waiting);
  changed_.wait(lock, [&] { return waiting->result.has_value(); });
  return *waiting->result;
}

void Watcher::end() {
  {
    const std::lock_guard lock(state_);
    is_over_ = true;
    for (const auto& waiting : waiting_)
      waiting->result = std::unexpected(over());
    waiting_.clear();
    changed_.notify_all();
  }
  if (!running_)
    return;
  const std::filesystem::path trace = running_->recording->trace;
  (void)running_->recorder->stop({.reason = "the watcher ends"});
  running_.reset();
  (void)store::remove_trace(trace, true);
}

// What takes tenths of a second, on another thread: the rings of the running recording do not overflow meanwhile.
template <typename Work>
auto Watcher::while_stepping(std::optional<Running>& running, const Work& work) {
  if (!running)
    return work();
  auto result = std::async(std::launch::async, work);
  while (result.wait_for(kStepInterval) != std::future_status::ready)
    running->recorder->step(monotonic_ns());
  return result.get();
}

// Begins a recording of these files in the place of the running one.
Result<void> Watcher::record(const std::vector<WatchedFile>& files) {
  std::optional<Running> next;
  if (!files.empty()) {
    auto begun = while_stepping(running_, [&] { return begin(files); });
    if (!begun)
      return std::unexpected(begun.error());
    next = std::move(*begun);
  }
  const std::uint64_t from_ns = monotonic_ns();
  if (next)
    next->recording->from_ns = from_ns;
  std::optional<Running> old = std::exchange(running_, std::move(next));
  {
    const std::lock_guard lock(state_);
    current_ = running_ ? running_->recording : nullptr;
    lost_now_ = 0;
    status_.recordings += running_ ? 1 : 0;
  }
  if (old)
    retire(std::move(*old), from_ns);
  return {};
}

Result<Watcher::Running> Watcher::begin(const std::vector<WatchedFile>& files) {
  static std::atomic<unsigned> number{0};
  std::vector<Fd> open; // until the recording has them
  std::vector<std::string> paths;
  Running next{nullptr, std::make_shared<Recording>()};
  for (const WatchedFile& file : files) {
    Fd fd = open_by_inode(file);
    if (!fd)
      continue; // gone; its log stays
    paths.push_back(fmt::format("/proc/self/fd/{}", fd.get()));
    open.push_back(std::move(fd));
  }
  if (paths.empty())
    return fail("nothing to record", "the files are gone");
  next.recording->files = files;
  next.recording->trace = directory_ / fmt::format("watched-{}.iotrail", ++number);
  const capture::RecordingRequest request = request_for(paths, next.recording->trace);
  auto recorder =
      capture::Recorder::open(capture::recorder_options(request), capture::make_sources(request));
  if (!recorder)
    return std::unexpected(recorder.error());
  if (Result<void> started = (*recorder)->start(); !started)
    return std::unexpected(started.error());
  next.recorder = std::move(*recorder);
  return next;
}

// Calls in progress end meanwhile, so that their rows come; later events belong to the next recording.
void Watcher::retire(Running old, std::uint64_t until_ns) {
  for (std::uint64_t now_ns = until_ns; now_ns < until_ns + kOverlapNs; now_ns = monotonic_ns()) {
    old.recorder->step(now_ns);
    if (running_)
      running_->recorder->step(now_ns);
    std::this_thread::sleep_for(kStepInterval);
  }
  const Result<void> stopped =
      while_stepping(running_, [&] { return old.recorder->stop({.reason = "renewed"}); });
  const store::Manifest& manifest = old.recorder->manifest();
  const std::lock_guard lock(state_);
  old.recording->until_ns = until_ns;
  status_.lost += manifest.lost() + manifest.gaps();
  if (!stopped)
    status_.failure = stopped.error().line();
  ended_.push_back(std::move(old.recording));
  changed_.notify_all();
}

// Ends a recording that takes nothing more, as on a full disk. Its trace goes once it has been read, which makes room.
void Watcher::give_up(const std::string& failure) {
  Running old = std::move(*std::exchange(running_, std::nullopt));
  {
    const std::lock_guard lock(state_);
    current_ = nullptr;
    lost_now_ = 0;
  }
  retire(std::move(old), monotonic_ns());
  next_check_ns_ = monotonic_ns() + kRetryNs;
  {
    const std::lock_guard lock(state_);
    status_.failure = failure;
  }
  if (!std::exchange(is_failing_, true))
    on_failure_(failure);
}

// Begins the next recording once the trace of this one is large, or none runs. False: it failed.
bool Watcher::renew() {
  std::vector<WatchedFile> files;
  {
    const std::lock_guard lock(state_);
    status_.trace_bytes =
        running_ ? store::repository_entry(running_->recording->trace).events_bytes : 0;
    // The reader of ended recordings must keep up; meanwhile the trace grows on.
    if (!ended_.empty() || files_.empty() || (running_ && status_.trace_bytes < kTraceBytes))
      return true;
    files = files_locked();
  }
  const Result<void> begun = record(files);
  if (begun)
    return true;
  const std::lock_guard lock(state_);
  status_.failure = begun.error().line();
  return false;
}

std::vector<WatchedFile> Watcher::known_files() {
  const std::lock_guard lock(state_);
  return files_locked();
}

std::vector<WatchedFile> Watcher::files_locked() const {
  std::vector<WatchedFile> files;
  for (const Watched& watched : files_)
    files.push_back(watched.file);
  return files;
}

// Reads recordings that have ended, also if no request comes.
void Watcher::fold() {
  for (;;) {
    {
      std::unique_lock lock(state_);
      changed_.wait(lock, [&] { return is_over_ || !ended_.empty(); });
      if (is_over_)
        break;
    }
    const std::lock_guard reading(reading_);
    read_ended();
  }
  const std::lock_guard lock(state_);
  for (const auto& recording : ended_)
    (void)store::remove_trace(recording->trace, true);
}

// With reading_ held.
void Watcher::read_ended() {
  for (;;) {
    std::shared_ptr<Recording> recording;
    {
      const std::lock_guard lock(state_);
      if (ended_.empty())
        return;
      recording = ended_.front();
    }
    const Result<void> done = read(*recording, true);
    (void)store::remove_trace(recording->trace, true);
    const std::lock_guard lock(state_);
    if (!done)
      status_.failure = done.error().line();
    ended_.pop_front();
  }
}

// With reading_ held.
Result<void> Watcher::read(const Recording& recording, bool is_over) {
  std::uint64_t until_ns = 0;
  {
    const std::lock_guard lock(state_);
    until_ns = recording.until_ns;
    for (Watched& watched : files_)
      watched.log.begin_recording();
  }
  const auto take = [&](const FileKey& key, LogEntry entry) {
    const std::lock_guard lock(state_);
    if (Watched* watched = find_locked(key))
      watched->log.add(std::move(entry));
  };
  Result<void> done =
      read_events(recording.trace, recording.files, recording.from_ns, until_ns, writers_, take);
  if (!is_over)
    return done;
  if (auto writers = read_writers(recording.trace, recording.files))
    for (auto& [key, writer] : *writers)
      writers_[key] = std::move(writer);
  const std::lock_guard lock(state_);
  for (Watched& watched : files_)
    watched.log.keep(until_ns);
  return done;
}

// The running recording with all its events up to now on the disk; nullptr: none runs.
Result<std::shared_ptr<Watcher::Recording>> Watcher::flush_current() {
  std::shared_ptr<Recording> current;
  const Result<void> flushed = on_driver([&]() -> Result<void> {
    if (!running_)
      return {};
    current = running_->recording;
    const auto manifest = running_->recorder->checkpoint();
    if (!manifest) {
      current = nullptr;
      give_up(manifest.error().line());
      return {};
    }
    is_failing_ = false;
    const std::lock_guard lock(state_);
    lost_now_ = manifest->lost() + manifest->gaps();
    return {};
  });
  if (!flushed)
    return std::unexpected(flushed.error());
  return current;
}

// All events up to now into the logs. With reading_ held.
Result<void> Watcher::read_current() {
  for (;;) {
    const auto current = flush_current();
    if (!current)
      return std::unexpected(current.error());
    read_ended();
    const bool is_running = [&] {
      const std::lock_guard lock(state_);
      return *current == current_;
    }();
    if (is_running)
      return *current ? read(**current, false) : Result<void>();
    // Another recording takes its place meanwhile, and the driver has not given this one to read_ended() yet.
  }
}

} // namespace iotrail::watch
