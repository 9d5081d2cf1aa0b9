// SPDX-License-Identifier: BSD-3-Clause
//
// Paths that a recording includes, besides the inodes that they have when it begins: a file that
// gets the path later, and calls that only name it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capture/kernel/load/bpf_object.hpp"

namespace iotrail::capture::kernel {

// False: it is a descriptor of this process, which stands for an inode alone. Without named paths no call of another
// program is compared with them.
constexpr bool is_name(std::string_view path) {
  return !path.starts_with("/proc/self/fd/");
}

// Most paths that these files of a filter can have: a symbolic link counts with its target.
constexpr iot_u32 most_named_paths(const std::vector<std::string>& files) {
  return static_cast<iot_u32>(2 * std::ranges::count_if(files, is_name));
}

// The generation of an inode number: the file system counts how often it was used. 0: unknown.
iot_u32 generation_of(const std::string& path);

class NamedPaths {
public:
  // `object`, loaded with `named_paths` in its configuration, outlives this.
  explicit NamedPaths(BpfObject& object) : object_(&object) {}

  // The path, which exists. If it is a symbolic link, its target too.
  Result<void> add(const std::string& path);

private:
  Result<void> add_one(const std::string& path);

  BpfObject* object_;
  iot_u32 count_ = 0;
};

} // namespace iotrail::capture::kernel
