// SPDX-License-Identifier: BSD-3-Clause
//
// Symbolic links to directories, as far as a trace shows where they lead: a program gives a path over one, and the file that
// is found has another.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace iotrail::analysis {

class DirectoryLinks {
public:
  // `given` led to the file at `found`, which the kernel has told just then: both are whole. How many bytes it takes to know that.
  std::size_t learn(std::string_view given, std::string_view found);
  // What had this path is there no more.
  void forget(const std::string& path) { links_.erase(path); }

  // The path behind the links on its way. Its last part is none: it is what a rename or removal is of.
  std::string follow(std::string path) const;

private:
  std::map<std::string, std::string, std::less<>> links_;
};

} // namespace iotrail::analysis
