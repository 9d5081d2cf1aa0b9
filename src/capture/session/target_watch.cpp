// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/target_watch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "capture/selection/cgroups.hpp"
#include "capture/selection/containers.hpp"

namespace iotrail::capture {
namespace {

// Sequence number of a disk, or of a partition's disk; empty: the kernel has none.
std::string sequence_of(const std::filesystem::path& folder) {
  std::string sequence;
  for (const char* file : {"diskseq", "../diskseq"})
    if (std::ifstream(folder / file) >> sequence)
      break;
  return sequence;
}

} // namespace

TargetWatch::TargetWatch(const Filter& filter) {
  for (const pid_t pid : filter.pids)
    watch_process(pid);
  for (const std::string& path : filter.wanted.cgroups)
    watch_group(find_cgroup(path));
  for (const std::string& container : filter.wanted.containers)
    watch_group(find_container(container));
  if (!filter.names_tasks() && filter.wanted.mounts.empty())
    for (const std::string& device : filter.wanted.devices)
      watch_device(device.contains('/') ? device : "/dev/" + device);
}

void TargetWatch::watch_process(pid_t pid) {
  processes_.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!processes_.back() && errno != ESRCH)
    knows_all_ = false;
}

// The root group has no such file and never ends.
void TargetWatch::watch_group(const Result<std::filesystem::path>& group) {
  groups_.emplace_back(group ? ::open((*group / "cgroup.events").c_str(), O_RDONLY | O_CLOEXEC)
                             : -1);
  if (std::error_code ignored; group && !groups_.back() && std::filesystem::exists(*group, ignored))
    knows_all_ = false;
}

void TargetWatch::watch_device(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return; // the recording cannot begin
  const std::filesystem::path folder =
      fmt::format("/sys/dev/block/{}:{}", major(status.st_rdev), minor(status.st_rdev));
  devices_.push_back({.folder = folder, .sequence = sequence_of(folder)});
}

bool TargetWatch::Device::is_removed() const {
  std::error_code ignored;
  return !std::filesystem::exists(folder, ignored) || sequence_of(folder) != sequence;
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
  return knows_all_ && count() != 0 && std::ranges::all_of(processes_, has_ended) &&
         std::ranges::all_of(groups_, is_removed) &&
         std::ranges::all_of(devices_, &Device::is_removed);
}

std::string TargetWatch::reason() const {
  std::vector<std::string> reasons;
  const auto add = [&](std::size_t count, const char* one, const char* several) {
    if (count != 0)
      reasons.emplace_back(count == 1 ? one : several);
  };
  add(processes_.size(), "process ended", "processes ended");
  add(groups_.size(), "control group removed", "control groups removed");
  add(devices_.size(), "device removed", "devices removed");
  return fmt::format("{}", fmt::join(reasons, ", "));
}

} // namespace iotrail::capture
