// SPDX-License-Identifier: BSD-3-Clause
//
// Control groups of the unified hierarchy (version 2), by their names in the kernel and in /proc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::capture {

// The path below the root of the hierarchy, from the contents of /proc/PID/cgroup. Empty: none.
std::string_view unified_cgroup(std::string_view proc_text);

// The directory of a group, by its absolute path or its path below the root of the hierarchy.
Result<std::filesystem::path> find_cgroup(const std::string& path);

// Paths by the kernel's ids. Not thread-safe; memory is bounded.
class Cgroups {
public:
  // As in /proc, "/" for the root; "id 7" for a removed group, or if the hierarchy is not mounted;
  // empty for 0, which is no group. The first call for a group makes two system calls.
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
