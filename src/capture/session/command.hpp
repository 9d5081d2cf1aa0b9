// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the recorded command, starts it stopped, lets it run when all sources watch, and waits for
// it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "capture/session/own_cost.hpp"

namespace iotrail::capture {

// Finds the file of `name` in PATH, as a shell does. Fails with command_not_found, or with
// command_not_executable.
Result<std::filesystem::path> find_command(const std::string& name);

class Command {
public:
  // Forks; the child waits before exec. The process must have one thread, since the child allocates
  // memory.
  static Result<Command> suspend(const std::filesystem::path& file,
                                 const std::vector<std::string>& arguments);

  // Lets the child execute the file, with `environment` ("NAME=value") added to ours. After a
  // failure the child is gone.
  Result<void> release(const std::vector<std::string>& environment);

  // Ends a child that was never released, and waits for it.
  ~Command();
  Command(Command&&) = default;
  Command& operator=(Command&&) = delete;

  pid_t pid() const { return pid_; }

  // The status as a shell shows it (128 + signal when killed), once the child has ended. Does not
  // wait.
  std::optional<int> poll_status();
  int wait_status(); // waits for the end
  // Of the command and of all children that it and they waited for, with what recording added. 0 before
  // the end is known.
  CpuTime cpu_time() const { return cpu_time_; }
  void signal(int number) const;

private:
  bool reap(int flags);
  Command(pid_t pid, Fd go, Fd exec_error, std::string name);

  pid_t pid_;
  Fd go_;         // the child reads its environment from here, then executes
  Fd exec_error_; // errno of a failed exec; a successful exec closes it
  std::string name_;
  bool released_ = false;
  std::optional<int> status_;
  CpuTime cpu_time_;
};

} // namespace iotrail::capture
