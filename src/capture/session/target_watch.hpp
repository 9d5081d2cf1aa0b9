// SPDX-License-Identifier: BSD-3-Clause
//
// When what a recording is of has ended.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "capture/source.hpp"

namespace iotrail::capture {

// The processes and control groups named by the filter, or, of a recording of everyone, the block devices: a recording of
// them, and of nothing else, ends when they do.
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

  bool knows_all_ = true;     // false: of one at least this kernel does not tell the end
  std::vector<Fd> processes_; // no descriptor: it had ended before
  std::vector<Fd> groups_;

  // Who is attached under the number of one that is gone is another one, of which the kernel has another sequence number.
  struct Device {
    std::filesystem::path folder; // in sysfs
    std::string sequence;         // empty: not told, as before Linux 5.15

    bool is_removed() const;
  };
  std::vector<Device> devices_;
};

} // namespace iotrail::capture
