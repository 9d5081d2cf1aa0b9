// SPDX-License-Identifier: BSD-3-Clause
//
// The directories along a walk, each opened below its parent: no path is too long, and no link is
// followed. Only a few stay open at a time; a closed one that is needed again is reopened from
// above.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace iotrail::capture::snapshot {

struct Directory {
  Directory(std::shared_ptr<Directory> its_parent, std::string its_name)
      : parent(std::move(its_parent)), name(std::move(its_name)) {}
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory();

  std::string path() const;

  std::shared_ptr<Directory> parent; // nullptr: the root of the walk
  std::string name;                  // for the root, its path
  Fd fd{};
};

class OpenDirectories {
public:
  // A descriptor of the directory, owned by the directory; -1 and errno.
  int open(const std::shared_ptr<Directory>& directory);

private:
  static constexpr std::size_t kHeldMost = 128;

  void hold(const std::shared_ptr<Directory>& directory);

  std::deque<std::weak_ptr<Directory>> held_;
};

} // namespace iotrail::capture::snapshot
