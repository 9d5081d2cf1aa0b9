// SPDX-License-Identifier: BSD-3-Clause
//
// Detects the end of the recorded processes, control groups and devices.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "capture/source.hpp"

namespace iotrail::capture {

// Watches the processes and control groups in the filter or, if it selects no tasks, its block
// devices. The recording ends when all of them have ended.
class TargetWatch {
public:
  explicit TargetWatch(const Filter& filter);
  bool have_all_ended() const;
  std::string reason() const; // why the recording ends

private:
  void watch_process(pid_t pid);
  void watch_group(const Result<std::filesystem::path>& group);
  void watch_device(const std::filesystem::path& path);
  std::size_t count() const { return processes_.size() + groups_.size() + devices_.size(); }

  bool knows_all_ = true;     // false: this kernel cannot report one of the ends
  std::vector<Fd> processes_; // without a descriptor: ended before
  std::vector<Fd> groups_;

  // A new device may get the numbers of a removed one, but its sequence number differs.
  struct Device {
    std::filesystem::path folder; // in sysfs
    std::string sequence;         // empty: the kernel has none, as before Linux 5.15

    bool is_removed() const;
  };
  std::vector<Device> devices_;
};

} // namespace iotrail::capture
