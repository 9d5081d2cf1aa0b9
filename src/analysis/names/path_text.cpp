// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/path_text.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <system_error>

#include <fmt/format.h>

namespace iotrail::analysis {

bool is_whole(std::string_view path) {
  return path.starts_with('/') && path.size() < PATH_MAX;
}

std::string joined(std::string_view directory, std::string_view name) {
  if (name.empty() || directory.size() + name.size() >= PATH_MAX)
    return {};
  std::string path(is_whole(name) || directory == "/" ? std::string_view{} : directory);
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(part.size() + 1, name.size()));
    if (part == "..")
      path.resize(path.empty() ? 0 : path.rfind('/'));
    else if (!part.empty() && part != ".")
      path.append("/").append(part);
  }
  return path.empty() ? "/" : path;
}

std::int32_t descriptor_of(std::string_view path, std::uint32_t pid) {
  std::int32_t fd = -1;
  for (const std::string& prefix :
       {std::string("/proc/self/fd/"), fmt::format("/proc/{}/fd/", pid)})
    if (path.starts_with(prefix)) {
      const char* end = path.data() + path.size();
      const auto read = std::from_chars(path.data() + prefix.size(), end, fd);
      return read.ec == std::errc{} && read.ptr == end ? fd : -1;
    }
  return fd;
}

} // namespace iotrail::analysis
