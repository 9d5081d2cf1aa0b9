// SPDX-License-Identifier: BSD-3-Clause
// Whether a path lies in a directory, by its text.
#pragma once

#include <string_view>

namespace iotrail {

// True also for the directory itself. Both are absolute, without "." and "..", and without a slash at the end.
constexpr bool is_below(std::string_view path, std::string_view directory) {
  return directory == "/" || (path.starts_with(directory) &&
                              (path.size() == directory.size() || path[directory.size()] == '/'));
}

} // namespace iotrail
