// SPDX-License-Identifier: BSD-3-Clause
//
// The names of files at one time of a recording. A file may have several (hard links). Several
// files may have the same name, because not all removals are recorded. Every operation takes time
// logarithmic in the number of names, and linear in its result.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace iotrail::analysis {

struct KnownName {
  std::string path;
  std::uint32_t file;
  std::uint64_t rank; // the larger, the later it was added or used
};

class KnownNames {
public:
  // Adds the name, or marks it as used.
  void note(const std::string& path, std::uint32_t file);
  // Adds a name from take_tree() at another path.
  void put(const std::string& path, std::uint32_t file, std::uint64_t rank);

  bool has(const std::string& path, std::uint32_t file) const;
  std::vector<std::uint32_t> files_at(const std::string& path) const;
  // The name added or used last; null: none. Valid until a name of the file changes.
  const std::string* latest(std::uint32_t file) const;

  bool remove(const std::string& path, std::uint32_t file); // false: it has no such name
  // Removes and returns the name and all names below it; only names of `only`, if that is not 0.
  std::vector<KnownName> take_tree(const std::string& path, std::uint32_t only);

private:
  using Names = std::map<std::pair<std::string, std::uint32_t>, std::uint64_t>; // to ranks
  Names::iterator erase(Names::iterator name);

  Names names_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, const std::string*> ranked_; // of file and rank
  std::uint64_t last_rank_ = 0;
};

} // namespace iotrail::analysis
