// SPDX-License-Identifier: BSD-3-Clause
//
// Processes as /proc shows them.
#pragma once

#include <sys/types.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace iotrail {

// A number of /proc/PID/status, by its name with the colon; 0: there is no such process.
inline pid_t status_value(pid_t pid, std::string_view name) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(
            name)) // a program's own name stands behind its "Name:" and has no line to itself
      return static_cast<pid_t>(std::strtol(line.c_str() + name.size(), nullptr, 10));
  return 0;
}

// The process that a thread belongs to; itself for a process.
inline pid_t process_of_thread(pid_t tid) {
  return status_value(tid, "Tgid:");
}

struct RunningProcess {
  pid_t pid = 0;
  pid_t parent = 0;
};

// All that run now; those that end meanwhile may be missing.
inline std::vector<RunningProcess> running_processes() {
  std::vector<RunningProcess> processes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec == std::errc{})
      processes.push_back({pid, status_value(pid, "PPid:")});
  }
  return processes;
}

} // namespace iotrail
