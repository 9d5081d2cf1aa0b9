// SPDX-License-Identifier: BSD-3-Clause
#include "capture/target_watch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "capture/cgroups.hpp"
#include "capture/containers.hpp"

namespace iotrail::capture {

TargetWatch::TargetWatch(const Filter& filter) {
  for (const pid_t pid : filter.pids)
    watch_process(pid);
  for (const std::string& path : filter.wanted.cgroups)
    watch_group(find_cgroup(path));
  for (const std::string& container : filter.wanted.containers)
    watch_group(find_container(container));
}

void TargetWatch::watch_process(pid_t pid) {
  processes_.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!processes_.back() && errno != ESRCH)
    knows_all_ = false;
}

// The group at the root has no such file, and no end.
void TargetWatch::watch_group(const Result<std::filesystem::path>& group) {
  groups_.emplace_back(group ? ::open((*group / "cgroup.events").c_str(), O_RDONLY | O_CLOEXEC)
                             : -1);
  if (group && !groups_.back() && std::filesystem::exists(*group))
    knows_all_ = false;
}

bool TargetWatch::have_all_ended() const {
  const auto has_ended = [](const Fd& process) {
    pollfd poll{.fd = process.get(), .events = POLLIN, .revents = 0};
    return !process || ::poll(&poll, 1, 0) > 0;
  };
  const auto is_removed = [](const Fd& group) {
    char byte = 0;
    return !group || (::pread(group.get(), &byte, 1, 0) < 0 && errno == ENODEV);
  };
  return knows_all_ && !(processes_.empty() && groups_.empty()) &&
         std::ranges::all_of(processes_, has_ended) && std::ranges::all_of(groups_, is_removed);
}

std::string TargetWatch::reason() const {
  const auto text = [](std::size_t count, const char* one, const char* several) {
    return std::string(count == 0 ? "" : count == 1 ? one : several);
  };
  const std::string processes = text(processes_.size(), "process ended", "processes ended");
  const std::string groups =
      text(groups_.size(), "control group removed", "control groups removed");
  return processes + (processes.empty() || groups.empty() ? "" : ", ") + groups;
}

} // namespace iotrail::capture
