// SPDX-License-Identifier: BSD-3-Clause
//
// One recording from its begin to its end: drains the sources into the trace, keeps the limits, records the losses
// where they happen in time, and closes the trace with an account that adds up. It knows no command, no signal and no
// loop; who drives it (`record`, a daemon, a test) calls from one thread, in this order:
//
//   open()    opens the sources; nothing is recorded yet
//   start()   makes the trace and starts the sources: events arise from here on
//   step()    again and again, until it says that the recording has ended or the driver knows why it should
//   stop()    stops the sources, drains what they hold, accounts, closes the trace
//
// Destroyed without stop(), it leaves the trace as the death of a recorder does: readable, in state INCOMPLETE.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "capture/session/loss_log.hpp"
#include "capture/source.hpp"
#include "capture/tasks/tasks.hpp"
#include "store/format/manifest.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture {

struct Limits {
  std::uint64_t time_ns = 0; // since start(); 0: none
  std::uint64_t size_bytes =
      0; // of the trace's segments; 0: none. What the rings hold by then still comes
  bool until_sources_end = false; // when nothing more will come of any
};

struct RecorderOptions {
  std::filesystem::path trace; // must not exist
  SourceOptions source;
  Limits limits;
  // What the manifest tells of the recording.
  std::vector<std::string>
      command; // that the driver starts; of none, the manifest has that of the first process named
  std::vector<std::string> filters_text; // in the words of the command line
  std::vector<std::string> limits_text;
  std::map<std::string, std::string> tags;
};

// A source that could not be used, and why; the others record.
struct Refusal {
  std::string source;
  Error error;
};

// What a step found.
enum class Step {
  idle, // nothing came
  calm, // few records came, against what the rings hold
  busy, // many: more are on their way
  ended, // a limit is reached or the trace takes no more: manifest().stop_reason says which; stop() is next
};

// How long to wait before the next step, at most.
int wait_ms(Step last);

// What only the driver knows of the end.
struct End {
  std::string reason;      // where the recorder has none of its own
  int command_status = -1; // as a shell shows it; -1: no command, or it goes on
};

class Recorder {
public:
  // Sources that cannot open are left out and in refusals(); with none left the error says why.
  static Result<std::unique_ptr<Recorder>> open(RecorderOptions options,
                                                std::vector<std::unique_ptr<Source>> sources);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // On failure the sources are gone and no trace is left.
  Result<void> start();
  // "NAME=value", for programs that the sources are to see into. Valid after start().
  std::vector<std::string> child_environment() const;
  // Drains, and every 100 ms looks at losses and the time. `now_ns` is monotonic.
  Step step(std::uint64_t now_ns);
  // After start(): this process too, and all that it starts from now on. An error where one source cannot; the others do.
  Result<void> follow(pid_t pid);
  // The manifest as it would be now. All that has come is in the trace when it returns, and can be read. The account adds
  // up where what is recorded rests meanwhile.
  Result<store::Manifest> checkpoint();
  // An error: a source could not be stopped, but the trace is closed. Or the manifest could not be written: the trace is
  // then as without stop(). Or the trace is whole but elsewhere: its directory was moved. If events could not be written,
  // the manifest says so, in state ERROR.
  Result<void> stop(const End& end);
  // The processes that are recorded and live, "PID NAME"; none where the recording is not of processes.
  std::vector<std::string> still_running() const;
  // Instead of stop(): ends the recording and removes its trace.
  void discard();

  const store::Manifest& manifest() const { return manifest_; } // after stop() as in the trace
  const std::vector<Refusal>& refusals() const { return refusals_; }

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
  bool has_reached_size();
  bool has_reached_time(std::uint64_t now_ns);
  bool has_ended(std::uint64_t now_ns);
  void account(store::Manifest& manifest) const;

  RecorderOptions options_;
  store::Manifest manifest_;
  std::vector<Refusal> refusals_;
  std::unique_ptr<store::TraceWriter> writer_; // from start() to stop()
  Tasks tasks_;
  std::vector<std::unique_ptr<Source>>
      sources_; // may refer to the writer and the tasks: they go before
  std::optional<LossLog> losses_;
  std::uint64_t next_sample_ns_ = 0;
  std::uint64_t cpu_begin_ns_ = 0; // of this process, at start()
};

} // namespace iotrail::capture
