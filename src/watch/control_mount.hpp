// SPDX-License-Identifier: BSD-3-Clause
//
// The files of the b-com I/O tracer, mounted at a directory as it has them below /proc/iotracer:
//   control               a line for each watched file; takes `add PATH [MAX]` and `remove PATH`
//   DISK_INODE/log        the log of a file
//   DISK_INODE/control    its state; takes `start`, `stop`, `reset` and `timereset`
// Each write is a command. A refused one fails with an error number, and `on_refused` gets the reason. Only the user who
// mounted it can use it.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "base/result.hpp"
#include "watch/watcher.hpp"

struct fuse;

namespace iotrail::watch {

class ControlMount {
public:
  using OnRefused = std::function<void(const Error&)>; // from any thread

  // `point` is absolute, without links. The watcher must outlive the mount, and be driven until it is gone.
  static Result<std::unique_ptr<ControlMount>> mount(const std::filesystem::path& point,
                                                     Watcher& watcher, OnRefused on_refused);
  ~ControlMount(); // takes the mount away

  // It was taken away from outside.
  bool has_ended() const { return has_ended_; }

  Watcher& watcher() { return watcher_; }
  // The error number for a failed command.
  int refuse(const Error& error) const;

private:
  ControlMount(std::filesystem::path point, Watcher& watcher, OnRefused on_refused);
  Result<void> open();
  void serve();

  std::filesystem::path point_;
  Watcher& watcher_;
  OnRefused on_refused_;
  fuse* fuse_ = nullptr;
  bool is_mounted_ = false;
  std::atomic<bool> has_ended_{false};
  std::thread thread_;
};

} // namespace iotrail::watch
