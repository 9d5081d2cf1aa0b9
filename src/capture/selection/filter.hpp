// SPDX-License-Identifier: BSD-3-Clause
//
// What is to be recorded. Empty lists do not restrict; a restriction by several means holds for each of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "schema.hpp"

namespace iotrail::capture {

// What a recording can be restricted to, or be without.
struct Things {
  std::vector<pid_t> threads;
  std::vector<std::string>
      names; // of tasks, as the kernel has them; one that ends in * stands for all that begin so
  std::vector<uid_t> users;            // real ones, numbered as in the initial namespace
  std::vector<std::string> cgroups;    // paths below /sys/fs/cgroup
  std::vector<std::string> containers; // by id or name: containers.hpp
  std::vector<std::string> devices;    // block devices, as paths
  std::vector<std::string> mounts;     // file systems, by where they are mounted
  std::vector<std::string> files;      // as paths
  std::vector<std::string> folders;    // with all below them
  std::vector<std::string> operations; // calls and classes of them: operations.hpp

  bool choose_tasks() const { return !threads.empty() || !names.empty() || !users.empty(); }
  bool choose_groups() const { return !cgroups.empty() || !containers.empty(); }
  bool choose_files() const { return !files.empty() || !folders.empty(); }
  bool choose_devices() const { return !devices.empty() || !mounts.empty(); }
};

// What an operation must have taken and moved to be recorded.
struct Least {
  std::uint64_t latency_ns = 0;
  std::uint64_t bytes = 0; // what moves none has 0

  bool is_set() const { return latency_ns != 0 || bytes != 0; }
};

struct Filter {
  std::vector<schema::Layer> layers;
  std::vector<std::string> events; // names as in the schema
  pid_t tree_root = 0;             // this process and all that it starts from now on
  bool tree_from_exec = false;     // but nothing before its next exec
  std::vector<pid_t>
      pids; // these processes as they run, and all that they have started and will start
  bool whole_system = false;
  Things wanted;
  Things excluded;
  std::vector<pid_t> excluded_pids; // processes, but not what they have started

  iot_u32 sample_of =
      0; // calls of which one is recorded, by chance, with all that it causes; 0: all are

  Least least;

  bool leaves_out_pseudo = false; // files of pseudo file systems: pseudo_file_systems.hpp

  // Of the tasks that are followed, or of their calls, some are left out.
  bool chooses_tasks() const {
    return sample_of != 0 || wanted.choose_tasks() || excluded.choose_tasks() ||
           excluded.choose_groups() || !excluded_pids.empty();
  }
  // Of what tasks do, some operations are left out, with all that they cause.
  bool chooses_operations() const {
    return !wanted.operations.empty() || !excluded.operations.empty();
  }
  bool names_tasks() const { return tree_root != 0 || !pids.empty() || wanted.choose_groups(); }
  // What is recorded of everyone on the machine where no tasks are named.
  bool names_things() const {
    return wanted.choose_tasks() || wanted.choose_files() || wanted.choose_devices();
  }
  bool follows_everyone() const { return whole_system || (names_things() && !names_tasks()); }
};

} // namespace iotrail::capture
