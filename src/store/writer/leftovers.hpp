// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

namespace iotrail::store {

// Files and directories that are not whole yet, or of use to this process alone: they are gone at the end of their owner, and
// also when a signal ends the process. While an owner is there, the thread that made it, and those that this one starts, leave
// SIGINT, SIGTERM, SIGHUP and SIGQUIT to a thread of its own, but for those that this thread had blocked; and what SIGPIPE would
// end ends with the owner. Owners end in the opposite order of their beginnings, in the thread that made them.
class Leftovers {
public:
  Leftovers();
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;
  ~Leftovers();

  // Makes a file or a directory, so that no signal comes in between; returns its path, or "" where it could not (errno says why).
  using Create = std::function<std::filesystem::path()>;
  // False: there is none. A directory goes if it is empty by then,
  bool make(const Create& create) const;
  // or with all that is below.
  bool make_tree(const Create& create) const;
  // They stay.
  void keep() const;

private:
  bool add(const Create& create, bool is_tree) const;
  void wait_for_signal(const std::stop_token& stop) const;

  sigset_t awaited_{};
  sigset_t blocked_before_{};
  std::jthread watch_;
};

} // namespace iotrail::store
