// SPDX-License-Identifier: BSD-3-Clause
//
// A process that still waits in a system call when its recording stops.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>

#include "await.hpp"
#include "shared.hpp"

namespace iotrail::live {

// The test creates it before the recording. Its end kills the process.
class LeftBehind {
public:
  LeftBehind() = default;
  ~LeftBehind() {
    if (*pid_ > 0)
      ::kill(*pid_, SIGKILL);
  }
  LeftBehind(const LeftBehind&) = delete;
  LeftBehind& operator=(const LeftBehind&) = delete;

  // Called by the recorded child: starts a process that does `work`. Returns once that process has
  // slept in `call` for kSlept. False: it has ended instead.
  bool start(long call, const std::function<void()>& work) const {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(std::chrono::seconds(kTimeout).count()); // should the test be killed
      work();
      ::_exit(EXIT_FAILURE);
    }
    *pid_ = pid;
    const bool has_ended =
        !await([&] { return sleeps_in(pid, call) || ::waitpid(pid, nullptr, WNOHANG) == pid; }) ||
        !sleeps_in(pid, call);
    if (has_ended)
      *pid_ = 0;
    std::this_thread::sleep_for(kSlept);
    return !has_ended;
  }

  static constexpr std::chrono::milliseconds kSlept{100};
  static constexpr std::uint64_t kSlept_ns = std::chrono::nanoseconds(kSlept).count();

private:
  Shared<pid_t> pid_;
};

} // namespace iotrail::live
