// SPDX-License-Identifier: BSD-3-Clause
//
// The programs that provide the mounted FUSE file systems. Newer kernels say which descriptor of
// /dev/fuse belongs to which file system (/proc/PID/fdinfo). On others, a daemon is known if it is
// the only one, or if its command line names the mount point.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "capture/selection/mounts.hpp"

namespace iotrail::capture {

struct FuseDaemon {
  iot_u32 device = 0; // of the file system
  std::string point;  // a mount point
  pid_t pid = 0;      // as this process sees it
  std::string name;   // comm
};

// From one thread.
class FuseDaemons {
public:
  // `proc`: another directory in tests.
  explicit FuseDaemons(std::filesystem::path proc = "/proc");

  // Looks for new mounts, and for what replaced a daemon that ended: many fork when they have
  // mounted. Costs a poll, and a stat for each daemon, if nothing changed.
  void look();

  // The daemons that are known, in order of their devices; also those that ended.
  std::vector<FuseDaemon> found() const;
  // The same as tags of a trace: "iotrail.fuse.DEVICE.pid", "... .comm" and "... .mount", with
  // the number of the device as in the events.
  std::map<std::string, std::string> tags() const;

private:
  struct Served {
    FuseDaemon daemon;    // pid 0: not known
    bool is_lost = false; // a search did not find it: not before the mounts change again
  };

  bool have_mounts_changed();
  void take(const std::vector<Mount>& mounts);
  bool needs_search() const;
  void search();

  std::filesystem::path proc_;
  Fd mountinfo_;
  bool is_first_ = true;
  std::vector<Served> served_; // by device
  unsigned searches_ = 0;
  unsigned looks_ = 0;
};

} // namespace iotrail::capture
