// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "capture/loss_log.hpp"
#include "capture/signals.hpp"

#ifndef IOTRAIL_VERSION
#error "the build passes IOTRAIL_VERSION"
#endif

namespace iotrail::capture {
namespace {

// Rings hold at least 60 ms at a million events a second, so looking each millisecond while events come, and each
// fourth when none did, leaves room for a machine that lets the recorder wait.
constexpr int kBusyWaitMs = 1;
constexpr int kIdleWaitMs = 4;
constexpr std::uint64_t kLookIntervalNs = 100'000'000; // at the loss counters, limits and memory
constexpr int kDrainRoundsAtEnd = 1000; // a bound on draining what a stopped source still holds
constexpr std::uint64_t kSameSignalNs = 100'000'000;
constexpr int kRecorderNice = -10; // losing events costs the user more than a little CPU

std::string new_trace_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

store::Manifest new_manifest(const SessionOptions& options) {
  store::Manifest manifest;
  manifest.iotrail_version = IOTRAIL_VERSION;
  manifest.trace_id = new_trace_id();
  manifest.command = options.command;
  utsname system{};
  ::uname(&system);
  manifest.host = system.nodename;
  manifest.kernel = system.release;
  manifest.machine = system.machine;
  manifest.cpu_count = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  manifest.recorder_pid = ::getpid();
  for (schema::Layer layer : options.source.filter.layers)
    manifest.layers.emplace_back(schema::layer_name(static_cast<io_u32>(layer)));
  manifest.filters = options.filters_text;
  manifest.limits = options.limits_text;
  manifest.tags = options.tags;
  return manifest;
}

std::uint64_t cpu_time_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_usec) * 1000U;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

// Memory of our own: the rings are shared with the traced side and told apart.
std::uint64_t own_memory_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr)
    return 0;
  unsigned long size = 0;
  unsigned long resident = 0;
  unsigned long shared = 0;
  const int fields = std::fscanf(file, "%lu %lu %lu", &size, &resident, &shared);
  std::fclose(file);
  return fields == 3 ? (resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))
                     : 0;
}

class Session {
public:
  Session(const SessionOptions& options, std::vector<std::unique_ptr<Source>> sources)
      : options_(options), sources_(std::move(sources)) {}

  Result<SessionSummary> run(OnBegin on_begin);

private:
  Result<void> start_command();
  Result<void> open_sources();
  Result<void> begin(OnBegin on_begin);
  void record();
  bool handle(const SignalQueue::Signal& signal);
  void look(std::uint64_t now_ns);
  bool limit_reached(std::uint64_t now_ns);
  void watch_processes();
  bool have_watched_ended();
  std::size_t drain();
  Result<void> end();
  void account();

  const SessionOptions& options_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::optional<SignalQueue> signals_;
  std::optional<Command> command_;
  std::unique_ptr<store::TraceWriter> writer_;
  std::optional<LossLog> losses_;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t signalled_ns_ = 0;
  std::vector<Fd> watched_; // processes with whose end the recording ends
  SessionSummary summary_;
};

Result<void> Session::start_command() {
  if (options_.command.empty())
    return {};
  Result<std::filesystem::path> file = find_command(options_.command.front());
  if (!file)
    return std::unexpected(file.error());
  Result<Command> command = Command::suspend(*file, options_.command);
  if (!command)
    return std::unexpected(command.error());
  command_.emplace(std::move(*command));
  return {};
}

Result<void> Session::open_sources() {
  SourceOptions options = options_.source;
  if (command_)
    options.filter.tree_root = command_->pid();
  options.filter.tree_from_exec = true; // what the child does before is the recorder's own
  for (auto& source : sources_) {
    Result<void> opened = source->open(options);
    if (!opened) {
      std::ranges::copy(store::refused(source->hooks(), opened.error()),
                        std::back_inserter(summary_.manifest.hooks));
      summary_.refusals.push_back({std::string(source->name()), opened.error()});
      source.reset();
    }
  }
  std::erase(sources_, nullptr);
  if (!sources_.empty())
    return {};
  if (summary_.refusals.empty())
    return fail("nothing to record", "no source serves the layers asked for");
  return std::unexpected(summary_.refusals.back().error);
}

// Loading the sources has taken its time; the recording begins here.
void set_begin(store::Manifest& manifest) {
  manifest.begin_ns = monotonic_ns();
  manifest.monotonic_to_real_ns = static_cast<std::int64_t>(realtime_ns() - manifest.begin_ns);
}

Result<void> Session::begin(OnBegin on_begin) {
  store::Manifest& manifest = summary_.manifest;
  set_begin(manifest);
  for (const auto& source : sources_) {
    std::ranges::copy(source->hooks(), std::back_inserter(manifest.hooks));
    manifest.ring_memory_bytes += source->ring_memory_bytes();
  }
  auto writer = store::TraceWriter::create(options_.trace, manifest);
  if (!writer)
    return std::unexpected(writer.error());
  writer_ = std::move(*writer);
  losses_.emplace(manifest.begin_ns);

  std::vector<std::string> environment;
  for (const auto& source : sources_) {
    if (Result<void> started = source->start(); !started)
      return started;
    std::ranges::copy(source->child_environment(), std::back_inserter(environment));
  }
  manifest.state = store::State::RUNNING;
  if (Result<void> written = writer_->write_manifest(manifest); !written)
    return written;
  watch_processes();
  on_begin(manifest, summary_.refusals);
  return command_ ? command_->release(environment) : Result<void>{};
}

std::size_t Session::drain() {
  std::size_t records = 0;
  for (const auto& source : sources_)
    records += source->drain(*writer_);
  return records;
}

void Session::look(std::uint64_t now_ns) {
  next_look_ns_ = now_ns + kLookIntervalNs;
  for (const auto& source : sources_)
    losses_->look(*source, *writer_, now_ns);
  losses_->looked(now_ns);
  summary_.manifest.recorder_memory_bytes =
      std::max(summary_.manifest.recorder_memory_bytes, own_memory_bytes());
}

bool Session::limit_reached(std::uint64_t now_ns) {
  const Limits& limits = options_.limits;
  if (limits.time_ns != 0 && now_ns - summary_.manifest.begin_ns >= limits.time_ns)
    summary_.manifest.stop_reason = "time limit";
  else if (limits.size_bytes != 0 && writer_->stats().bytes >= limits.size_bytes)
    summary_.manifest.stop_reason = "size limit";
  else if (const Error* failure = writer_->failure(); failure != nullptr)
    summary_.manifest.stop_reason = failure->message();
  else
    return false;
  return true;
}

// The processes named by the filter: a recording of them, and of nothing else, ends when they do.
void Session::watch_processes() {
  const Filter& filter = options_.source.filter;
  if (!filter.cgroups.empty())
    return;
  for (const pid_t pid : filter.pids) {
    watched_.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!watched_.back() && errno != ESRCH)
      return watched_.clear(); // it cannot be known; the user ends the recording
  }
}

bool Session::have_watched_ended() {
  const auto has_ended = [](const Fd& process) {
    pollfd poll{.fd = process.get(), .events = POLLIN, .revents = 0};
    return !process || ::poll(&poll, 1, 0) > 0;
  };
  if (watched_.empty() || !std::ranges::all_of(watched_, has_ended))
    return false;
  summary_.manifest.stop_reason = watched_.size() == 1 ? "process ended" : "processes ended";
  return true;
}

// Whether the recording goes on.
bool Session::handle(const SignalQueue::Signal& signal) {
  store::Manifest& manifest = summary_.manifest;
  if (signal.number == SIGCHLD) {
    if (!command_ || !command_->poll_status())
      return true;
    if (manifest.stop_reason.empty())
      manifest.stop_reason = "command ended";
    return false;
  }
  // Who signals a process and then its group sends the same signal twice.
  const std::uint64_t now_ns = monotonic_ns();
  if (signal.number == summary_.stop_signal && now_ns - signalled_ns_ < kSameSignalNs)
    return true;
  signalled_ns_ = now_ns;
  const bool again = summary_.stop_signal != 0;
  summary_.stop_signal = signal.number;
  manifest.stop_reason = fmt::format("interrupted ({})", strsignal(signal.number));
  if (again || !command_)
    return false;
  if (!signal.from_terminal)
    command_->signal(signal.number);
  return true;
}

void Session::record() {
  bool busy = true;
  while (true) {
    const auto signal = signals_->wait(busy ? kBusyWaitMs : kIdleWaitMs);
    busy = drain() > 0;
    const std::uint64_t now_ns = monotonic_ns();
    writer_->tick(now_ns);
    if (signal && !handle(*signal))
      return;
    if (now_ns < next_look_ns_)
      continue;
    look(now_ns);
    if (limit_reached(now_ns) || have_watched_ended())
      return;
  }
}

// Every event that arose is either in the trace or counted as lost; what does not add up is a bug and said aloud.
void Session::account() {
  store::Manifest& manifest = summary_.manifest;
  const store::WriterStats stats = writer_->stats();
  for (const auto& source : sources_) {
    store::SourceTally tally{.name = std::string(source->name()), .produced = source->produced()};
    const auto is_of_source = [&](const auto& row) {
      const bool app = IO_LAYER_OF(row.first) == IO_LAYER_app;
      return IO_LAYER_OF(row.first) != IO_LAYER_dictionary && app == (tally.name == "preload");
    };
    for (const auto& row : stats.rows)
      if (is_of_source(row))
        tally.written += row.second;
    for (const auto& row : stats.rows_failed)
      if (is_of_source(row))
        tally.lost += row.second;
    for (const CounterValue& counter : source->counters())
      if (schema::find_counter(counter.counter)->severity == schema::Severity::loss)
        tally.lost += counter.value;
    manifest.sources.push_back(tally);
  }
  for (const auto& [kind, rows] : stats.rows)
    if (const schema::Event* event = schema::find_event(kind))
      manifest.counts[std::string(event->name)] = rows;
  for (const auto& [key, value] : losses_->totals())
    if (value != 0)
      manifest.counters[std::string(schema::find_counter(key.first)->name)] += value;
  for (const auto& [kind, rows] : stats.rows_failed)
    if (rows != 0)
      manifest.counters[std::string(schema::find_counter(IO_COUNTER_store_write_failed)->name)] +=
          rows;
  manifest.events_bytes = stats.bytes;
}

Result<void> Session::end() {
  store::Manifest& manifest = summary_.manifest;
  for (const auto& source : sources_)
    if (Result<void> stopped = source->stop(); !stopped)
      return stopped;
  for (int round = 0; drain() > 0 && round < kDrainRoundsAtEnd; ++round) {
  }
  manifest.end_ns = monotonic_ns();
  look(manifest.end_ns);
  // A failed flush is in the writer's failure(): the trace says so below and the account counts what it cost.
  (void)writer_->flush();
  account();
  manifest.recorder_cpu_ns = cpu_time_ns();
  manifest.state = writer_->failure() != nullptr ? store::State::ERROR : store::State::COMPLETE;
  if (writer_->failure() != nullptr)
    manifest.stop_reason = writer_->failure()->message();
  if (command_) {
    manifest.command_status = command_->poll_status().value_or(-1);
    if (!command_->poll_status() && summary_.stop_signal != 0)
      manifest.stop_reason += "; the command goes on";
  }
  Result<void> finished = writer_->finish(manifest);
  // What could not be written of the events is in the manifest, which did get written; the trace can be read.
  if (!finished && writer_->failure() != nullptr)
    return {};
  return finished;
}

Result<SessionSummary> Session::run(OnBegin on_begin) {
  summary_.manifest = new_manifest(options_);
  Result<SignalQueue> signals = SignalQueue::open();
  if (!signals)
    return std::unexpected(signals.error());
  signals_.emplace(std::move(*signals));

  if (Result<void> started = start_command(); !started)
    return std::unexpected(started.error());
  if (Result<void> opened = open_sources(); !opened)
    return std::unexpected(opened.error());
  ::setpriority(PRIO_PROCESS, 0,
                kRecorderNice); // best effort: without the privilege we stay as we are
  if (Result<void> begun = begin(on_begin); !begun) {
    if (writer_) {
      writer_.reset();
      std::error_code ignored;
      std::filesystem::remove_all(options_.trace,
                                  ignored); // made by us a moment ago, and nothing is in it
    }
    return std::unexpected(begun.error());
  }
  record();
  if (Result<void> ended = end(); !ended)
    return std::unexpected(ended.error());
  if (command_ && summary_.stop_signal == 0)
    command_->wait_status(); // a limit ended the recording only
  if (command_)
    summary_.command_status = command_->poll_status();
  return std::move(summary_);
}

} // namespace

Result<SessionSummary> run_session(const SessionOptions& options,
                                   std::vector<std::unique_ptr<Source>> sources, OnBegin on_begin) {
  return Session(options, std::move(sources)).run(on_begin);
}

} // namespace iotrail::capture
