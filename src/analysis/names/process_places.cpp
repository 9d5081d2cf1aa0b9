// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/process_places.hpp"

#include <utility>

#include "analysis/names/path_text.hpp"

namespace iotrail::analysis {

namespace {

constexpr int kAncestorsMost = 64;
constexpr std::size_t kEntryBytes = 128; // of a known directory, in addition to its text

} // namespace

std::size_t ProcessPlaces::add(std::uint32_t pid, std::uint32_t parent_pid,
                               std::uint32_t container) {
  containers_[pid] = container;
  if (!parents_.try_emplace(pid, parent_pid).second)
    return 0; // it executes another program, and keeps its directory
  std::size_t bytes = 0;
  if (const auto root = roots_.find(parent_pid); root != roots_.end())
    bytes += set_root(pid, std::string(root->second));
  if (const auto parent = directories_.find(parent_pid);
      parent != directories_.end() && !directories_.contains(pid))
    bytes += set_directory(pid, std::string(parent->second.path), true);
  return bytes;
}

std::size_t ProcessPlaces::set_directory(std::uint32_t pid, std::string path, bool is_first) {
  const auto [directory, is_new] = directories_.try_emplace(pid);
  const std::size_t before = is_new ? 0 : kEntryBytes + directory->second.path.size();
  const std::size_t after = kEntryBytes + path.size();
  directory->second = {std::move(path), is_first};
  return after > before ? after - before : 0;
}

std::size_t ProcessPlaces::learn_directory(std::uint32_t pid, std::string_view given,
                                           const std::string& path) {
  const std::string ending = joined("/", given);
  if (ending.empty() || given.contains("..") || (ending != "/" && !path.ends_with(ending)))
    return 0;
  std::string directory = ending == "/" ? path : path.substr(0, path.size() - ending.size());
  if (directory.empty())
    directory.push_back('/');
  const auto known = directories_.find(pid);
  if (known != directories_.end() && known->second.path == directory)
    return 0;
  return set_directory(pid, std::move(directory), known == directories_.end());
}

std::size_t ProcessPlaces::set_root(std::uint32_t pid, std::string path) {
  const std::size_t bytes = kEntryBytes + path.size();
  return roots_.insert_or_assign(pid, std::move(path)).second ? bytes : 0;
}

// A process without a known directory gets the directory of an ancestor: the nearest one with a
// directory known from its beginning on.
std::string_view ProcessPlaces::directory_of(std::uint32_t pid) const {
  std::uint32_t process = pid;
  for (int ancestors = 0; ancestors < kAncestorsMost; ++ancestors) {
    if (const auto found = directories_.find(process); found != directories_.end())
      return process == pid || found->second.is_first ? std::string_view(found->second.path)
                                                      : std::string_view{};
    const auto parent = parents_.find(process);
    if (parent == parents_.end())
      break;
    process = parent->second;
  }
  return {};
}

std::string_view ProcessPlaces::root_of(std::uint32_t pid) const {
  const auto root = roots_.find(pid);
  return root == roots_.end() ? std::string_view("/") : root->second;
}

std::uint32_t ProcessPlaces::container_of(std::uint32_t pid) const {
  const auto found = containers_.find(pid);
  return found == containers_.end() ? 0 : found->second;
}

} // namespace iotrail::analysis
