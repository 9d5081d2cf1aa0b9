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
#include <vector>

#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

// The current directory of a process from a time on.
struct CurrentDirectory {
  std::uint32_t pid;
  std::uint64_t since_ns;
  std::string path{};     // at first; empty: unknown
  std::uint32_t file = 0; // key of `files`, which has the path at any time; 0: unknown
  bool is_first = false;  // the process has not changed it before
  // From a file that a relative path led to: wrong if the file has another name there.
  bool is_inferred = false;
};

// Whether the trace has all moves of processes to other directories.
bool are_moves_recorded(const store::TraceReader& trace);

class ProcessPlaces {
public:
  // `are_moves_known`: each change of a current directory is recorded.
  explicit ProcessPlaces(bool are_moves_known) : are_moves_known_(are_moves_known) {}

  // All return the number of bytes of memory added.
  std::size_t add(std::uint32_t pid, std::uint32_t parent_pid, std::uint32_t container,
                  std::uint64_t at_ns);
  std::size_t set_directory(CurrentDirectory directory);
  // From a relative path, and the absolute path of the file that it led to.
  std::size_t learn_directory(std::uint32_t pid, std::string_view given, const std::string& path,
                              std::uint64_t at_ns);
  std::size_t set_root(std::uint32_t pid, std::string path);

  const CurrentDirectory* directory_of(std::uint32_t pid) const; // null: unknown
  // All directories so far, in the order of time of each process; those of processes that have
  // shown none are those of their ancestors.
  std::vector<CurrentDirectory> all_directories() const;
  std::string_view root_of(std::uint32_t pid) const;
  std::uint32_t container_of(std::uint32_t pid) const; // 0: none

private:
  bool are_moves_known_;
  std::vector<CurrentDirectory> history_;
  std::unordered_map<std::uint32_t, std::uint32_t> parents_;
  std::unordered_map<std::uint32_t, std::uint32_t> containers_;
  std::unordered_map<std::uint32_t, std::size_t> directories_; // index of the last one in history_
  std::unordered_map<std::uint32_t, std::string> roots_;
};

} // namespace iotrail::analysis
