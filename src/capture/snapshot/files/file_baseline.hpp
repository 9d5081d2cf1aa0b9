// SPDX-License-Identifier: BSD-3-Clause
//
// The last known state of a file system, directory by directory, for the comparison with a delta.
// An unreadable or unreached directory keeps its state: none of its files counts as removed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema.hpp"

namespace iotrail::capture::snapshot {

// Equal if nothing relevant to a delta has changed. Access times do not count, nor do device
// numbers, which a file system may change over a restart.
std::uint64_t fingerprint(const iot_snapshot_file& file);

struct BaselineFile {
  std::string name;
  std::uint64_t fingerprint = 0;
  bool is_directory = false;
  bool is_there = false;   // used in a comparison
  bool is_removed = false; // used by note()
};
using BaselineFiles = std::vector<BaselineFile>; // sorted by name, no name twice

class FileBaseline {
public:
  // Removes and returns the files of a directory. The roots themselves are in directory "".
  BaselineFiles take(const std::string& directory);
  void put(const std::string& directory, BaselineFiles files); // unsorted
  bool is_empty() const { return directories_.empty(); }

  // For rows read one after another: the last row of a file counts. Call sort() at the end.
  void note(const std::string& directory, BaselineFile file) {
    directories_[directory].push_back(std::move(file));
  }
  void sort();

private:
  std::unordered_map<std::string, BaselineFiles> directories_;
};

// nullptr: no such file.
BaselineFile* find_known(BaselineFiles& files, std::string_view name);

std::string path_below(std::string_view directory, std::string_view name);

} // namespace iotrail::capture::snapshot
