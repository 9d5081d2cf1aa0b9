// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting for a state, in a test or in its children. A test that hopes for a duration instead fails
// on a busy machine.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace iotrail::live {

// The limit of a wait, for a test that would hang.
constexpr std::chrono::minutes kTimeout{5};

// Waits until `is_reached` returns true. False: it never does.
inline bool await(const std::function<bool()>& is_reached) {
  constexpr std::chrono::milliseconds kRest{1};
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  while (!is_reached()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(kRest);
  }
  return true;
}

// The state of a thread, as ps(1) shows it.
inline char state_of(pid_t tid) {
  std::ifstream status("/proc/" + std::to_string(tid) + "/status");
  for (std::string word; status >> word;)
    if (word == "State:")
      return static_cast<char>((status >> std::ws).get());
  return '?';
}

// Whether this thread sleeps in this system call (proc_pid_syscall(5)).
inline bool sleeps_in(pid_t tid, long call) {
  std::ifstream words("/proc/" + std::to_string(tid) + "/syscall");
  long number = -1;
  return words >> number && number == call;
}

} // namespace iotrail::live
