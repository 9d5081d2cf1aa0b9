// SPDX-License-Identifier: BSD-3-Clause
//
// The command whose I/O is recorded: found, started in suspense, let go when all sources watch, waited for.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::capture {

// The file that `name` stands for, by PATH as a shell does. The error is of kind command_not_found where there is none
// and command_not_executable where it cannot be executed.
Result<std::filesystem::path> find_command(const std::string& name);

class Command {
public:
  // Forks; the child waits before exec. Call while the process has one thread: the child allocates memory.
  static Result<Command> suspend(const std::filesystem::path& file,
                                 const std::vector<std::string>& arguments);

  // Lets the child execute the file, with `environment` ("NAME=value") added to ours. On failure the child is gone.
  Result<void> release(const std::vector<std::string>& environment);

  // A child that was never released is ended and waited for.
  ~Command();
  Command(Command&&) = default;
  Command& operator=(Command&&) = delete;

  pid_t pid() const { return pid_; }

  // Status as a shell shows it (128 + signal when killed) once the child has ended; does not wait.
  std::optional<int> poll_status();
  int wait_status(); // waits
  void signal(int number) const;

private:
  Command(pid_t pid, Fd go, Fd exec_error, std::string name);

  pid_t pid_;
  Fd go_;         // the child reads its environment from here, then executes
  Fd exec_error_; // errno of a failed exec; closed by a good one
  std::string name_;
  bool released_ = false;
  std::optional<int> status_;
};

} // namespace iotrail::capture
