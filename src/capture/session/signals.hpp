// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <signal.h>

#include <optional>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::capture {

// SIGINT, SIGTERM, SIGHUP and SIGCHLD of this process as something to wait for, as long as the object lives. Those that
// nobody has waited for by then are dropped: what they asked for, an end, has come.
class SignalQueue {
public:
  struct Signal {
    int number;
    bool from_terminal; // the whole foreground group got it, the command too
  };

  static Result<SignalQueue> open();
  ~SignalQueue();
  SignalQueue(SignalQueue&&) = default;
  SignalQueue& operator=(SignalQueue&&) = delete;

  // The next signal; none when nothing comes within the time.
  std::optional<Signal> wait(int milliseconds);

private:
  struct State {
    sigset_t blocked;
    struct sigaction on_child;
  };

  SignalQueue(Fd fd, const State& before) : fd_(std::move(fd)), before_(before) {}
  Fd fd_;
  State before_;
};

} // namespace iotrail::capture
