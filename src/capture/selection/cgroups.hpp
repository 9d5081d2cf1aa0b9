// SPDX-License-Identifier: BSD-3-Clause
//
// Control groups of the unified hierarchy (version 2), by the names that the kernel and /proc have for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::capture {

// In what /proc/PID/cgroup says: the path below the root of the hierarchy. Empty: it names none.
std::string_view unified_cgroup(std::string_view proc_text);

// The directory of a group that is named by its path, whole or below the root of the hierarchy.
Result<std::filesystem::path> find_cgroup(const std::string& path);

// Paths by the kernel's ids. One thread; memory is bounded.
class Cgroups {
public:
  // As /proc tells it, "/" for the root; "id 7" of a group that has been removed, or where the hierarchy is not mounted;
  // empty: 0 is no group. Costs two system calls the first time that a group is asked for.
  std::string path_of(std::uint64_t id);

private:
  std::string find(std::uint64_t id);
  bool open_hierarchy();

  Fd hierarchy_;
  std::string mount_point_;
  std::uint64_t next_try_ns_ = 0; // it may be mounted later
  std::unordered_map<std::uint64_t, std::string> paths_;
};

} // namespace iotrail::capture
