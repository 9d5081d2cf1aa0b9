// SPDX-License-Identifier: BSD-3-Clause
//
// Symbolic links to directories, as far as a trace shows their targets. A program gives a path
// through one, and the found file has another path.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace iotrail::analysis {

class DirectoryLinks {
public:
  // `given` led to the file at `found`, which the kernel has just reported: both are absolute.
  // Returns the bytes of memory used.
  std::size_t learn(std::string_view given, std::string_view found);
  // The file or directory with this path no longer exists.
  void forget(const std::string& path) { links_.erase(path); }

  // The path after following the links in it. Its last part is not followed, because a rename or
  // removal acts on it.
  std::string follow(std::string path) const;

private:
  std::map<std::string, std::string, std::less<>> links_;
};

} // namespace iotrail::analysis
