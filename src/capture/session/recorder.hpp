// SPDX-License-Identifier: BSD-3-Clause
//
// One recording from begin to end: drains the sources into the trace, checks the limits, records
// losses with their times, and closes the trace with an exact account. It knows no command, signal
// or loop. The driver (`record`, a daemon, a test) calls it from one thread, in this order:
//
//   open()    opens the sources; nothing is recorded yet
//   start()   makes the trace and starts the sources: events are recorded from here on
//   step()    repeatedly, until it returns `ended` or the driver ends the recording
//   stop()    stops the sources, drains their rings, accounts, closes the trace
//
// Without stop(), the destructor leaves the trace as a killed recorder does: readable, in state
// INCOMPLETE.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "capture/request/request.hpp"
#include "capture/session/loss_log.hpp"
#include "capture/session/machine/disk_counters.hpp"
#include "capture/session/machine/fuse_daemons.hpp"
#include "capture/session/own_cost.hpp"
#include "capture/source.hpp"
#include "capture/tasks/tasks.hpp"
#include "store/format/manifest.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture {

struct RecorderOptions {
  std::filesystem::path trace; // must not exist
  SourceOptions source;
  Limits limits;
  // For the manifest.
  std::vector<std::string>
      command;         // empty: the manifest has the command of the first named process
  std::string request; // as JSON: request.hpp
  std::vector<std::string> filters_text; // as on the command line
  std::vector<std::string> limits_text;
  std::map<std::string, std::string> tags;
  // For `--metrics`: `on_sample` gets the manifest as it would be now, from
  // the recorder's thread: some times a second, and last with all that is final.
  store::RowObserver* observer = nullptr; // outlives the recorder
  std::function<void(const store::Manifest&)> on_sample;
};

// The options that follow from a request.
RecorderOptions recorder_options(const RecordingRequest& request);

// A source that could not be used, with the reason. The other sources record.
struct UnavailableSource {
  std::string source;
  Error error;
};

// The result of a step.
enum class Step {
  idle,  // no records
  calm,  // few records, compared with the size of the rings
  busy,  // many records: more are likely
  ended, // a limit is reached or the trace is full (manifest().stop_reason); call stop()
};

// The longest time to wait before the next step.
int wait_ms(Step last);

// Facts about the end that only the driver knows.
struct End {
  std::string reason;      // used if the recorder has none itself
  int command_status = -1; // as a shell shows it; -1: no command, or still running
  CpuTime command_cpu;     // 0: no command, or still running
};

class Recorder {
public:
  // Excludes sources that cannot open; refusals() lists them. Fails if none is left.
  static Result<std::unique_ptr<Recorder>> open(RecorderOptions options,
                                                std::vector<std::unique_ptr<Source>> sources);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // On failure the sources are gone and no trace is left.
  Result<void> start();
  // "NAME=value", for programs that the sources observe from within. Valid after start().
  std::vector<std::string> child_environment() const;
  // Drains; every 100 ms also samples losses and checks the time. `now_ns` is monotonic.
  Step step(std::uint64_t now_ns);
  // After start(): also records this process and all that it starts from now on. Fails if one
  // source cannot; the others do.
  Result<void> follow(pid_t pid);
  // Writes all events so far, so that the trace can be read, and returns the manifest as it would
  // be now. Its account is exact if the recorded tasks are idle meanwhile.
  Result<store::Manifest> checkpoint();
  // An error: a source could not be stopped, but the trace is closed. Or the manifest could not be written: the trace is
  // then as without stop(). Or the trace is whole but elsewhere: its directory was moved. If events could not be written,
  // the manifest says so, in state ERROR.
  Result<void> stop(const End& end);
  // The recorded processes that still run, "PID NAME". Empty if the recording does not select
  // processes.
  std::vector<std::string> still_running() const;
  // Instead of stop(): ends the recording and removes its trace.
  void discard();

  const store::Manifest& manifest() const { return manifest_; } // final after stop()
  const std::vector<UnavailableSource>& refusals() const { return refusals_; }

private:
  explicit Recorder(RecorderOptions options);
  Result<void> check_layers() const;
  Result<void> open_sources(std::vector<std::unique_ptr<Source>> sources);
  Result<void> start_writer_and_sources();
  Result<void> stop_sources();
  Result<void> close_trace(const End& end);
  Step found(std::size_t records) const;
  std::size_t drain();
  void drain_to_the_end();
  void sample(std::uint64_t to_ns);
  void show_sample(std::uint64_t now_ns);
  bool has_reached_size();
  bool has_reached_time(std::uint64_t now_ns);
  bool has_ended(std::uint64_t now_ns);
  void account(store::Manifest& manifest) const;
  bool records_requests() const;

  RecorderOptions options_;
  store::Manifest manifest_;
  std::vector<UnavailableSource> refusals_;
  std::unique_ptr<store::TraceWriter> writer_; // from start() to stop()
  Tasks tasks_;
  // Destroyed before the writer and the tasks, which they may refer to.
  std::vector<std::unique_ptr<Source>> sources_;
  std::optional<LossLog> losses_;
  std::vector<DiskCounters> disks_; // at start()
  FuseDaemons fuse_daemons_;
  std::uint64_t next_sample_ns_ = 0;
  std::uint64_t next_shown_ns_ = 0; // to on_sample
  std::uint64_t cpu_begin_ns_ = 0;  // of this process, at start()
};

} // namespace iotrail::capture
