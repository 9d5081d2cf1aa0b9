// SPDX-License-Identifier: BSD-3-Clause
//
// Processes as /proc shows them.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace iotrail {

// A number in /proc/PID/status, by its name with the colon; 0: no such process.
inline pid_t status_value(pid_t pid, std::string_view name) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  // The line "Name:" may contain any text, but only after the key.
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name))
      return static_cast<pid_t>(std::strtol(line.c_str() + name.size(), nullptr, 10));
  return 0;
}

// The process of a thread; itself for a process.
inline pid_t process_of_thread(pid_t tid) {
  return status_value(tid, "Tgid:");
}

// Inode of the initial pid namespace (PROC_PID_INIT_INO), which uses the kernel's own task numbers.
inline constexpr std::uint64_t kInitialPidNamespace = 0xeffffffc;

// Name of a process; empty: no such process.
inline std::string comm_of(pid_t pid) {
  std::string comm;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), comm);
  return comm;
}

// The words of its command line; for a kernel thread, which has none, its name in brackets. `proc`
// may be another directory in tests.
inline std::vector<std::string> command_of(pid_t pid, const std::string& proc = "/proc") {
  std::ifstream file(fmt::format("{}/{}/cmdline", proc, pid));
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');)
    words.push_back(word);
  if (words.empty())
    words.push_back(fmt::format("[{}]", comm_of(pid)));
  return words;
}

// Whether this process or its parent was started with one of these variables, "NAME=VALUE". Nothing
// without permission to look, or where there is no environment: a process that just executes a
// program has none yet.
inline std::optional<bool> has_variable(pid_t pid, const std::vector<std::string>& variables) {
  std::ifstream environment(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  if (!environment)
    return {};
  std::optional<bool> has_one;
  for (std::string word; std::getline(environment, word, '\0');) {
    has_one = std::ranges::find(variables, word) != variables.end();
    if (*has_one)
      return true;
  }
  return environment.bad() ? std::nullopt : has_one;
}

struct RunningProcess {
  pid_t pid = 0;
  pid_t parent = 0;
};

// All running processes; those that end meanwhile may be missing.
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
