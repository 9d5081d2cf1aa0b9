// SPDX-License-Identifier: BSD-3-Clause
//
// What a file system was like when it was last looked at, directory by directory, for a delta to compare with. A directory
// that cannot be read, or is not reached, stays as it was: nothing in it is taken for removed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema.hpp"

namespace iotrail::capture::snapshot {

// Equal where nothing that a delta tells of has changed: neither the times of reading count nor the numbers of devices,
// which a file system may not keep over a restart.
std::uint64_t fingerprint(const iot_snapshot_file& file);

struct BaselineFile {
  std::string name;
  std::uint64_t fingerprint = 0;
  bool is_directory = false;
  bool is_there = false;   // for who compares
  bool is_removed = false; // for who notes
};
using BaselineFiles = std::vector<BaselineFile>; // sorted by name, no name twice

class FileBaseline {
public:
  // The files of a directory; it has none afterwards. Of the roots themselves, the directory is "".
  BaselineFiles take(const std::string& directory);
  void put(const std::string& directory, BaselineFiles files); // in any order
  bool is_empty() const { return directories_.empty(); }

  // For who reads rows one after another: the last one that names a file counts. sort() ends it.
  void note(const std::string& directory, BaselineFile file) {
    directories_[directory].push_back(std::move(file));
  }
  void sort();

private:
  std::unordered_map<std::string, BaselineFiles> directories_;
};

// nullptr: there is none.
BaselineFile* find_known(BaselineFiles& files, std::string_view name);

std::string path_below(std::string_view directory, std::string_view name);

} // namespace iotrail::capture::snapshot
