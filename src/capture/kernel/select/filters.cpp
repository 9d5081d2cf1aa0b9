// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/select/filters.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <filesystem>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/process.hpp"
#include "capture/kernel/load/hooks.hpp"
#include "capture/kernel/select/file_filters.hpp"
#include "capture/kernel/select/named_paths.hpp"
#include "capture/selection/cgroups.hpp"
#include "capture/selection/containers.hpp"
#include "capture/selection/file_system.hpp"
#include "iotrail.skel.h"

namespace iotrail::capture::kernel {
namespace {

Result<void> name_cgroup(int map, iot_u32 index, const Result<std::filesystem::path>& group) {
  if (!group)
    return std::unexpected(group.error());
  const std::string what = "control group " + group->native();
  if (index >= IOT_CGROUP_LIMIT)
    return fail(what, "more are named than a recording can be restricted to",
                fmt::format("There is room for {}.", IOT_CGROUP_LIMIT));
  const Fd directory(::open(group->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int fd = directory.get();
  if (!directory || bpf_map_update_elem(map, &index, &fd, BPF_ANY) != 0)
    return fail_errno(what);
  return {};
}

Result<void> adopt(BpfObject& object, PidNumbers& numbers, pid_t pid) {
  const iot_u32 number = numbers.of(pid);
  if (number == 0)
    return fail(fmt::format("process {}", pid), "it is gone");
  return put(object.map_fd("adopted_pids"), number, fmt::format("process {}", pid));
}

// A name that ends in * matches all names with this prefix.
Result<void> judge_name(int map, const std::string& text, iot_verdict verdict) {
  const bool is_beginning = text.ends_with('*');
  const std::string name = text.substr(0, text.size() - (is_beginning ? 1 : 0));
  iot_name_key key{.bits = 8 * IOT_COMM_BYTES, .name = {}};
  if (name.size() >= sizeof(key.name))
    return fail("task name " + text,
                fmt::format("the kernel keeps {} bytes of one", sizeof(key.name) - 1),
                fmt::format("Write '{}'.", name.substr(0, sizeof(key.name) - 1)));
  if (is_beginning)
    key.bits = static_cast<iot_u32>(8 * name.size());
  name.copy(key.name, name.size());
  return put(map, key, text, verdict);
}

Result<void> judge_number(int map, iot_choice_by by, iot_u32 number, iot_verdict verdict) {
  const iot_choice_key key{.by = by, .number = number};
  return put(map, key, fmt::format("number {}", number), verdict);
}

Result<void> judge_task(BpfObject& object, PidNumbers& numbers, iot_choice_by by, pid_t pid,
                        iot_verdict verdict) {
  const iot_u32 number = numbers.of(pid);
  if (number == 0)
    return fail(fmt::format("task {}", pid), "it is gone");
  return judge_number(object.map_fd("choices"), by, number, verdict);
}

Result<void> judge_things(BpfObject& object, PidNumbers& numbers, const Selector& things,
                          iot_verdict verdict) {
  Result<void> set{};
  const auto each = [&set](const auto& list, const auto& judge) {
    for (const auto& thing : list)
      if (set)
        set = judge(thing);
  };
  iot_u32 group = 0;
  const int groups = object.map_fd(verdict == IOT_WANTED ? "adopted_cgroups" : "excluded_cgroups");
  NamedPaths named(object);
  each(things.files, [&](const auto& path) {
    auto judged = judge_file(object, path, verdict);
    return judged && verdict == IOT_WANTED && is_name(path) ? named.add(path) : judged;
  });
  each(things.devices, [&](const auto& path) { return judge_device(object, path, verdict); });
  each(things.mounts, [&](const auto& path) { return judge_mount(object, path, verdict); });
  each(things.cgroups,
       [&](const auto& path) { return name_cgroup(groups, group++, find_cgroup(path)); });
  each(things.containers,
       [&](const auto& name) { return name_cgroup(groups, group++, find_container(name)); });
  each(things.names,
       [&](const auto& name) { return judge_name(object.map_fd("chosen_names"), name, verdict); });
  each(things.users, [&](uid_t user) {
    return judge_number(object.map_fd("choices"), IOT_BY_USER, user, verdict);
  });
  each(things.threads,
       [&](pid_t tid) { return judge_task(object, numbers, IOT_BY_TASK, tid, verdict); });
  return set;
}

void fill_choices(iot_config& config, const Filter& filter) {
  const auto verdicts = [](bool are_wanted, bool are_excluded) {
    return static_cast<iot_u8>((are_wanted ? IOT_WANTED : 0) | (are_excluded ? IOT_EXCLUDED : 0));
  };
  const Selector& wanted = filter.wanted;
  const Selector& excluded = filter.excluded;
  config.filters_tasks = filter.filters_tasks() || filter.filters_operations();
  config.sample_of = filter.sample_of;
  config.min_latency_ns = filter.thresholds.latency_ns;
  config.chosen_by[IOT_BY_NAME] = verdicts(!wanted.names.empty(), !excluded.names.empty());
  config.chosen_by[IOT_BY_USER] = verdicts(!wanted.users.empty(), !excluded.users.empty());
  config.chosen_by[IOT_BY_TASK] = verdicts(!wanted.threads.empty(), !excluded.threads.empty());
  config.chosen_by[IOT_BY_PROCESS] = verdicts(false, !filter.excluded_pids.empty());
  config.excluded_cgroups =
      static_cast<iot_u8>(excluded.cgroups.size() + excluded.containers.size());
}

} // namespace

void fill_filters(iot_config& config, const Filter& filter) {
  config.adopt_all = filter.follows_everyone();
  config.adopt_pids = !filter.pids.empty();
  config.adopt_cgroups = filter.wanted.choose_groups();
  config.filter_files = filter.wanted.choose_files();
  config.filter_devices = filter.wanted.choose_devices();
  config.named_paths = most_named_paths(filter.wanted.files);
  if (config.named_paths != 0 && ::getrandom(&config.name_seed, sizeof(config.name_seed), 0) < 0)
    config.name_seed = monotonic_ns();
  config.filter_folders = !filter.wanted.folders.empty() || !filter.excluded.folders.empty();
  config.excludes_files = filter.excluded.choose_files();
  config.excludes_pseudo = filter.excludes_pseudo;
  config.excludes_devices = filter.excluded.choose_devices();
  fill_choices(config, filter);
  config.follows_connections = is_any_wanted(filter, schema::Layer::net);
  config.block_all =
      filter.whole_system || (filter.wanted.choose_devices() && !filter.names_tasks());
  for (const schema::Event& event : schema::kEvents)
    if (filter.records(event))
      config.wanted[static_cast<std::size_t>(event.layer)][event.id & (IOT_KIND_LIMIT - 1)] = 1;
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
  if (auto set = judge_folders(object, filter); !set)
    return set;
  if (auto set = judge_things(object, numbers, filter.wanted, IOT_WANTED); !set)
    return set;
  if (auto set = judge_things(object, numbers, filter.excluded, IOT_EXCLUDED); !set)
    return set;
  for (const pid_t pid : filter.excluded_pids)
    if (auto set = judge_task(object, numbers, IOT_BY_PROCESS, pid, IOT_EXCLUDED); !set)
      return set;
  for (const pid_t pid : filter.pids) {
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
      is_more = true; // a child of this one may have been missed
    }
  }
  return added;
}

Result<void> trace_tree(BpfObject& object, iot_u32 tid, bool from_exec) {
  iot_task& state = object.skeleton().bss->task_states[tid & (IOT_TASK_BUCKETS - 1)];
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
