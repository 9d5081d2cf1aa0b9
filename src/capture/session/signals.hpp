// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <signal.h>

#include <optional>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::capture {

// During its lifetime, SIGINT, SIGTERM, SIGHUP and SIGCHLD of this process arrive in this queue.
// Its end drops the signals that wait() has not returned: they ask for an end, which has come.
class SignalQueue {
public:
  struct Signal {
    int number;
    bool from_terminal; // the terminal signals the whole foreground group, with the command
  };

  static Result<SignalQueue> open();
  ~SignalQueue();
  SignalQueue(SignalQueue&&) = default;
  SignalQueue& operator=(SignalQueue&&) = delete;

  // The next signal; empty if none arrives in time.
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
