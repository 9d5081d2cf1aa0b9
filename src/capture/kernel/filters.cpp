// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/filters.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <array>
#include <set>
#include <string>

#include "base/fd.hpp"
#include "base/process.hpp"
#include "capture/kernel/block_device.hpp"
#include "capture/kernel/file_system.hpp"
#include "capture/kernel/hooks.hpp"
#include "capture/mounts.hpp"
#include "iotrail.skel.h"

namespace iotrail::capture::kernel {
namespace {

constexpr iot_u32 kPresent = 1;

template <class Key> Result<void> put(int map, const Key& key, const std::string& what) {
  if (bpf_map_update_elem(map, &key, &kPresent, BPF_ANY) != 0)
    return fail_errno("filter: " + what);
  return {};
}

Result<void> want_file(int map, const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return fail_errno("filter: file " + path);
  if (S_ISDIR(status.st_mode))
    return fail("filter: file " + path, "it is a directory", "Name the files in it one by one.");
  const iot_file_key key{.inode = status.st_ino, .device = file_system_of(path), .generation = 0};
  return put(map, key, path);
}

// The whole disk that a path stands for; 0: it is no block device.
iot_u32 disk_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISBLK(status.st_mode))
    return 0;
  return whole_disk(kernel_device(status.st_rdev));
}

// Block events by the disk; those of other layers by the file systems that are mounted from it.
Result<void> want_device(BpfObject& object, const std::string& name) {
  const std::string path = name.find('/') == name.npos ? "/dev/" + name : name;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return fail_errno("filter: device " + path);
  const iot_u32 disk = disk_of(path);
  if (disk == 0)
    return fail("filter: device " + path, "not a block device",
                "`lsblk --paths` lists the block devices there are.");
  // The disk's own numbers: for what is mounted later, or where this process does not see it.
  std::vector<iot_u32> file_systems = partitions_of(disk);
  for (const Mount& mount : read_mounts())
    if (disk_of(mount.source) == disk)
      file_systems.push_back(mount.device); // a number that is no disk's, as with btrfs
  for (const iot_u32 device : file_systems)
    if (auto set = put(object.map_fd("wanted_file_systems"), device, path); !set)
      return set;
  return put(object.map_fd("wanted_devices"), disk, path);
}

// Paths are below the version 2 hierarchy, wherever that is mounted.
Result<void> want_cgroup(int map, iot_u32 index, const std::string& path) {
  constexpr std::array<const char*, 3> kRoots = {"", "/sys/fs/cgroup/", "/sys/fs/cgroup/unified/"};
  int refusal = ENOENT;
  for (const char* root : kRoots) {
    const Fd directory(::open((root + path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory)
      continue;
    const int fd = directory.get();
    if (bpf_map_update_elem(map, &index, &fd, BPF_ANY) == 0)
      return {};
    refusal = errno;
  }
  return fail_errno("filter: cgroup " + path, refusal, "name a cgroup of the version 2 hierarchy");
}

Result<void> adopt(BpfObject& object, PidNumbers& numbers, pid_t pid) {
  const iot_u32 number = numbers.of(pid);
  if (number == 0)
    return fail(fmt::format("process {}", pid), "it is gone");
  return put(object.map_fd("adopted_pids"), number, fmt::format("process {}", pid));
}

bool names_tasks(const Filter& filter) {
  return filter.tree_root != 0 || !filter.pids.empty() || !filter.cgroups.empty();
}

} // namespace

void fill_filters(iot_config& config, const Filter& filter) {
  const bool names_targets = !filter.files.empty() || !filter.devices.empty();
  config.adopt_all = filter.whole_system || (names_targets && !names_tasks(filter));
  config.adopt_pids = !filter.pids.empty();
  config.adopt_cgroups = !filter.cgroups.empty();
  config.filter_files = !filter.files.empty();
  config.filter_devices = !filter.devices.empty();
  config.follows_connections = is_any_wanted(filter, schema::Layer::net);
  config.block_all = filter.whole_system || (!filter.devices.empty() && !names_tasks(filter));
  for (const schema::Event& event : schema::kEvents)
    if (!event.is_dictionary() && is_wanted(filter, event))
      config.wanted[static_cast<std::size_t>(event.layer)][event.id & (IOT_KIND_SLOTS - 1)] = 1;
}

void fill_own_files(iot_config& config, const std::vector<std::filesystem::path>& files) {
  if (files.size() != IOT_OWN_FILES)
    return;
  for (std::size_t i = 0; i < files.size(); ++i) {
    struct stat status{};
    if (::stat(files[i].c_str(), &status) != 0)
      return;
    config.own_files[i] = {
        .inode = status.st_ino, .device = file_system_of(files[i]), .generation = 0};
  }
  const std::string& library = files[IOT_OWN_LIBRARY].native();
  const std::size_t kept = std::min(library.size(), sizeof(config.own_path) - 1);
  config.own_path_skipped = static_cast<iot_u32>(library.size() - kept);
  library.copy(config.own_path, kept, config.own_path_skipped);
  config.has_own = 1;
}

Result<void> set_filters(BpfObject& object, PidNumbers& numbers, const Filter& filter) {
  for (const std::string& path : filter.files)
    if (Result<void> set = want_file(object.map_fd("wanted_files"), path); !set)
      return set;
  for (const std::string& path : filter.devices)
    if (Result<void> set = want_device(object, path); !set)
      return set;
  iot_u32 index = 0;
  for (const std::string& path : filter.cgroups)
    if (Result<void> set = want_cgroup(object.map_fd("adopted_cgroups"), index++, path); !set)
      return set;
  for (pid_t pid : filter.pids) {
    if (::kill(pid, 0) != 0 && errno == ESRCH)
      return fail_errno(fmt::format("process {}", pid));
    if (Result<void> set = adopt(object, numbers, pid); !set)
      return set;
  }
  return {};
}

Result<std::vector<pid_t>> trace_descendants(BpfObject& object, PidNumbers& numbers,
                                             const std::vector<pid_t>& pids) {
  std::set<pid_t> traced(pids.begin(), pids.end());
  std::vector<pid_t> added;
  for (bool is_more = !pids.empty(); is_more;) {
    is_more = false;
    for (const auto& [pid, parent] : running_processes()) {
      if (!traced.contains(parent) || !traced.insert(pid).second)
        continue;
      if (numbers.of(pid) == 0) // ended meanwhile
        continue;
      if (auto set = adopt(object, numbers, pid); !set)
        return std::unexpected(set.error());
      added.push_back(pid);
      is_more = true; // a child of this one may have been passed over
    }
  }
  return added;
}

Result<void> trace_tree(BpfObject& object, iot_u32 tid, bool from_exec) {
  iot_task& state = object.skeleton().bss->task_states[tid & (IOT_TASK_SLOTS - 1)];
  if (const iot_u32 owner = __atomic_load_n(&state.live_tid, __ATOMIC_ACQUIRE);
      owner != 0 && owner != tid && state.is_dead == 0)
    return fail(fmt::format("following process {}", tid),
                fmt::format("task {} has the place for its state", owner));
  state.owner = {.op_id = 0, .parent_op = 0, .pid = tid, .tid = tid};
  state.is_dead = 0;
  state.group_exited = 0;
  state.awaits_exec = from_exec;
  __atomic_store_n(&state.live_tid, from_exec ? 0U : tid, __ATOMIC_RELEASE);
  return {};
}

} // namespace iotrail::capture::kernel
