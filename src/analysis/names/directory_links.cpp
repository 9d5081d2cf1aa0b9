// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/directory_links.hpp"

#include "analysis/names/path_text.hpp"

namespace iotrail::analysis {

namespace {

// Limit for one path: this many links, in this many directories from its begin on.
constexpr int kLinksMost = 4;
constexpr int kDepthMost = 16;

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}
std::string_view parent(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

} // namespace

// The common end of both paths lies behind the link.
std::size_t DirectoryLinks::learn(std::string_view given, std::string_view found) {
  if (given == found || last_part(given) != last_part(found))
    return 0;
  while (!given.empty() && !found.empty() && last_part(given) == last_part(found)) {
    given = parent(given);
    found = parent(found);
  }
  if (given.empty()) // the program has another root
    return 0;
  const std::string_view to = found.empty() ? std::string_view("/") : found;
  const bool is_new = links_.insert_or_assign(std::string(given), std::string(to)).second;
  return is_new ? given.size() + to.size() : 0;
}

std::string DirectoryLinks::follow(std::string path) const {
  if (links_.empty())
    return path;
  std::size_t at = 1;
  int followed = 0;
  for (int depth = 0; depth < kDepthMost && followed < kLinksMost; ++depth) {
    const std::size_t end = path.find('/', at);
    if (end == std::string::npos)
      break;
    at = end + 1;
    const auto link = links_.find(std::string_view(path).substr(0, end));
    if (link == links_.end())
      continue;
    path = joined(link->second, path.substr(end + 1));
    at = 1;
    depth = 0;
    ++followed;
  }
  return path;
}

} // namespace iotrail::analysis
