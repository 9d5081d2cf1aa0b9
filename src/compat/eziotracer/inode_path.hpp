// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace iotrail::compat::eziotracer {

struct Node {
  std::filesystem::path path; // absolute, without links
  ino_t inode = 0;
};

// The file or directory that the user named by its inode number, or by its path. A number is looked
// for in the current directory, below it, and among those above.
Result<Node> find_node(const std::string& text, bool is_directory);

} // namespace iotrail::compat::eziotracer
