// SPDX-License-Identifier: BSD-3-Clause
//
// A recording that a user or a script waits for. It starts the command and drives the recorder. It
// ends with the command, or with the named processes and control groups, or at a limit, or by a
// signal.
//
// Signals: SIGINT, SIGTERM and SIGHUP end the recording cleanly. A running command gets the signal
// and is recorded until it ends, since its last events matter most. A second signal ends the
// recording at once, and so does the first if the command has ended already. A limit, or an error,
// ends only the recording: the command keeps running, and iotrail waits for it. While the disk of
// the trace takes nothing, signals work as usual. If the trace cannot be closed for that reason, a
// signal ends this process.
// The caller keeps the ForegroundOutcome until it has printed its summary: as long as the object lives,
// no further signal ends the process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "capture/session/recorder.hpp"
#include "capture/session/signals.hpp"

namespace iotrail::capture {

struct ForegroundOutcome {
  store::Manifest manifest;     // as in the trace
  std::optional<Error> failure; // of ending the recording (Recorder::stop)
  std::optional<int> command_status;
  int stop_signal = 0; // the signal that ended the recording, or 0
  SignalQueue signals;
};

// Called when all sources have started, before the command begins.
using OnBegin = std::function<void(const store::Manifest& manifest,
                                   const std::vector<UnavailableSource>& refusals)>;

// Called from another thread if closing the trace takes long, for its disk.
using OnDiskWait = std::function<void()>;

// What a recording waits for: the command, or the processes and control groups named, or also all that they have started.
enum class Until { they_end, all_end };

// Runs `options.command`. If it is empty, the filter names running tasks. The process must have one
// thread (Command::suspend). The recorder's thread gets a better priority if that is permitted.
Result<ForegroundOutcome> record_in_foreground(RecorderOptions options,
                                               std::vector<std::unique_ptr<Source>> sources,
                                               const OnBegin& on_begin,
                                               Until until = Until::they_end,
                                               OnDiskWait on_disk_wait = {});

} // namespace iotrail::capture
