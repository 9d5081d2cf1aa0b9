// SPDX-License-Identifier: BSD-3-Clause
//
// What a recording contains. Empty lists do not restrict; several restrictions all apply.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "schema.hpp"

namespace iotrail::capture {

// Selector to include in or exclude from a recording.
struct Selector {
  std::vector<pid_t> threads;
  std::vector<std::string> names;      // of tasks, as in the kernel; a trailing * matches a prefix
  std::vector<uid_t> users;            // real ones, as numbered in the initial namespace
  std::vector<std::string> cgroups;    // paths below /sys/fs/cgroup
  std::vector<std::string> containers; // by id or name: containers.hpp
  std::vector<std::string> devices;    // block devices, as paths
  std::vector<std::string> mounts;     // file systems, by mount point
  std::vector<std::string> files;      // as paths
  std::vector<std::string> folders;    // directories, including everything below
  std::vector<std::string> operations; // calls and classes of calls: operations.hpp

  bool choose_tasks() const { return !threads.empty() || !names.empty() || !users.empty(); }
  bool choose_groups() const { return !cgroups.empty() || !containers.empty(); }
  bool choose_files() const { return !files.empty() || !folders.empty(); }
  bool choose_devices() const { return !devices.empty() || !mounts.empty(); }
};

// Minimum duration and size of a recorded operation.
struct Thresholds {
  std::uint64_t latency_ns = 0;
  std::uint64_t bytes = 0; // an operation that moves no bytes has 0

  bool is_set() const { return latency_ns != 0 || bytes != 0; }
};

struct Filter {
  std::vector<schema::Layer> layers;
  std::vector<std::string> events; // names as in the schema
  pid_t tree_root = 0;             // this process, and all that it starts from now on
  bool tree_from_exec = false;     // but no event before its next exec
  std::vector<pid_t> pids; // these running processes, and all their past and future children
  std::vector<pid_t>
      machines; // those of `pids` that are QEMU: layer snapshot has their disk images
  bool whole_system = false;
  Selector wanted;
  Selector excluded;
  std::vector<pid_t> excluded_pids; // these processes, but not their children

  iot_u32 sample_of =
      0; // one of this many calls is recorded, at random, with all its effects; 0: all are

  Thresholds thresholds;

  bool excludes_pseudo = false; // files of pseudo file systems: pseudo_file_systems.hpp

  // Some of the followed tasks, or of their calls, are excluded.
  bool filters_tasks() const {
    return sample_of != 0 || wanted.choose_tasks() || excluded.choose_tasks() ||
           excluded.choose_groups() || !excluded_pids.empty();
  }
  // Some operations of recorded tasks are excluded, with all their effects.
  bool filters_operations() const {
    return !wanted.operations.empty() || !excluded.operations.empty();
  }
  bool names_tasks() const { return tree_root != 0 || !pids.empty() || wanted.choose_groups(); }
  // Selects things of all tasks on the machine, if no tasks are named.
  bool names_things() const {
    return wanted.choose_tasks() || wanted.choose_files() || wanted.choose_devices();
  }
  // Whether the recording has this event, as far as layers and events decide.
  bool records(const schema::Event& event) const;
  bool follows_everyone() const { return whole_system || (names_things() && !names_tasks()); }
};

} // namespace iotrail::capture
