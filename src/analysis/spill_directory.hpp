// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

namespace iotrail::analysis {

// Where large queries put what does not fit into memory: nobody else can have made it, or look into it. Without one they
// fail with a message of the engine. It is gone at the end of its owner, and also when a signal ends the process: while it is
// there, the thread that made it, and those that this one starts, leave SIGINT, SIGTERM and SIGHUP to a thread of its own,
// but for those that this thread had blocked; and what SIGPIPE would end ends with the owner.
class SpillDirectory {
public:
  SpillDirectory();
  SpillDirectory(const SpillDirectory&) = delete;
  SpillDirectory& operator=(const SpillDirectory&) = delete;
  ~SpillDirectory();
  const std::string& path() const { return path_; } // "": there is none

private:
  void remove() const;
  void wait_for_signal(const std::stop_token& stop) const;

  std::string path_;
  sigset_t awaited_{};
  sigset_t blocked_before_{};
  std::jthread watch_;
};

} // namespace iotrail::analysis
