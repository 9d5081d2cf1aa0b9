// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

namespace iotrail::store {

// Temporary files and directories: unfinished, or used only by this process. The owner's destructor
// removes them, and so does a signal that ends the process.
// Each owner has a thread that waits for SIGINT, SIGTERM, SIGHUP and SIGQUIT. The creating thread,
// and threads that it starts, block them meanwhile. Signals that the creating thread had blocked or
// the process ignores stay as they are. SIGPIPE ends the process after the owner's destructor.
// Owners are destroyed in reverse order of construction, by the thread that made them.
class TemporaryFiles {
public:
  TemporaryFiles();
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;
  ~TemporaryFiles();

  // Creates a file or directory with signals held off. Returns its path, or "" on failure (see
  // errno).
  using Create = std::function<std::filesystem::path()>;
  // False: `create` failed. make() removes a directory only if it is empty.
  bool make(const Create& create) const;
  // make_tree() removes a directory with its content.
  bool make_tree(const Create& create) const;
  // Keeps all files.
  void keep() const;

private:
  bool add(const Create& create, bool is_tree) const;
  void wait_for_signal(const std::stop_token& stop) const;

  sigset_t awaited_{};
  sigset_t blocked_before_{};
  std::jthread watch_;
};

// Those of all owners, before the process ends at once.
void remove_temporary_files();

} // namespace iotrail::store
