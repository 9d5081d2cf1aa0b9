// SPDX-License-Identifier: BSD-3-Clause
//
// Which files have which names at one time of a recording. A file may have several (hard links), and what is told of names may
// say that several files have one, since not all that removed names was recorded. No operation is slower than in the
// logarithm of the names, and linear in what it returns.
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
  // Adds the name, or says that it was used.
  void note(const std::string& path, std::uint32_t file);
  // One that take_tree() gave, elsewhere.
  void put(const std::string& path, std::uint32_t file, std::uint64_t rank);

  bool has(const std::string& path, std::uint32_t file) const;
  std::vector<std::uint32_t> files_at(const std::string& path) const;
  // The name added or used last; null: it has none. Valid until a name of the file changes.
  const std::string* latest(std::uint32_t file) const;

  bool remove(const std::string& path, std::uint32_t file); // false: it has no such name
  // Removes and returns the name, of `only` if that is not 0, with all names below it.
  std::vector<KnownName> take_tree(const std::string& path, std::uint32_t only);

private:
  using Names = std::map<std::pair<std::string, std::uint32_t>, std::uint64_t>; // to ranks
  Names::iterator erase(Names::iterator name);

  Names names_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, const std::string*> ranked_; // of file and rank
  std::uint64_t last_rank_ = 0;
};

} // namespace iotrail::analysis
