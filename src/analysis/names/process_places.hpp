// SPDX-License-Identifier: BSD-3-Clause
//
// The current directories and roots of processes, at which their paths start, as far as a trace has
// them; and the container of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace iotrail::analysis {

class ProcessPlaces {
public:
  // All return the number of bytes of memory added.
  std::size_t add(std::uint32_t pid, std::uint32_t parent_pid, std::uint32_t container);
  // `is_first`: the process has not changed it. An empty path is an unknown one.
  std::size_t set_directory(std::uint32_t pid, std::string path, bool is_first);
  // From a relative path, and the absolute path of the file that it led to.
  std::size_t learn_directory(std::uint32_t pid, std::string_view given, const std::string& path);
  std::size_t set_root(std::uint32_t pid, std::string path);

  std::string_view directory_of(std::uint32_t pid) const; // empty: unknown
  std::string_view root_of(std::uint32_t pid) const;
  std::uint32_t container_of(std::uint32_t pid) const; // 0: none

private:
  struct CurrentDirectory {
    std::string path;
    bool is_first;
  };

  std::unordered_map<std::uint32_t, std::uint32_t> parents_;
  std::unordered_map<std::uint32_t, std::uint32_t> containers_;
  std::unordered_map<std::uint32_t, CurrentDirectory> directories_;
  std::unordered_map<std::uint32_t, std::string> roots_;
};

} // namespace iotrail::analysis
