// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/process_places.hpp"

#include <algorithm>
#include <utility>

#include "analysis/names/path_text.hpp"

namespace iotrail::analysis {

namespace {

constexpr int kAncestorsMost = 64;
constexpr std::size_t kEntryBytes = 128; // of a known directory, in addition to its text

} // namespace

bool are_moves_recorded(const store::TraceReader& trace) {
  return std::ranges::any_of(trace.manifest().hooks, [](const store::HookReport& hook) {
    return hook.event == "syscall_chdir" && !hook.hook.empty();
  });
}

std::size_t ProcessPlaces::add(std::uint32_t pid, std::uint32_t parent_pid, std::uint32_t container,
                               std::uint64_t at_ns) {
  containers_[pid] = container;
  if (!parents_.try_emplace(pid, parent_pid).second)
    return 0; // it executes another program, and keeps its directory
  std::size_t bytes = 0;
  if (const auto root = roots_.find(parent_pid); root != roots_.end())
    bytes += set_root(pid, std::string(root->second));
  if (const auto parent = directories_.find(parent_pid);
      parent != directories_.end() && !directories_.contains(pid)) {
    CurrentDirectory inherited = history_[parent->second];
    inherited.pid = pid;
    inherited.since_ns = at_ns;
    inherited.is_first = true;
    bytes += set_directory(std::move(inherited));
  }
  return bytes;
}

std::size_t ProcessPlaces::set_directory(CurrentDirectory directory) {
  const std::size_t bytes = kEntryBytes + directory.path.size();
  directories_[directory.pid] = history_.size();
  history_.push_back(std::move(directory));
  return bytes;
}

// Where all moves are known, a process is where it was: only a file with several names can seem to
// say otherwise.
std::size_t ProcessPlaces::learn_directory(std::uint32_t pid, std::string_view given,
                                           const std::string& path, std::uint64_t at_ns) {
  const CurrentDirectory* known = directory_of(pid);
  if (known && are_moves_known_)
    return 0;
  const std::string ending = joined("/", given);
  if (ending.empty() || given.contains("..") || (ending != "/" && !path.ends_with(ending)))
    return 0;
  std::string directory = ending == "/" ? path : path.substr(0, path.size() - ending.size());
  if (directory.empty())
    directory.push_back('/');
  if (known && known->path == directory)
    return 0;
  return set_directory({.pid = pid,
                        .since_ns = at_ns,
                        .path = std::move(directory),
                        .is_first = !directories_.contains(pid),
                        .is_inferred = true});
}

std::size_t ProcessPlaces::set_root(std::uint32_t pid, std::string path) {
  const std::size_t bytes = kEntryBytes + path.size();
  return roots_.insert_or_assign(pid, std::move(path)).second ? bytes : 0;
}

// A process without a known directory gets the directory of an ancestor: the nearest one with a
// directory known from its beginning on.
const CurrentDirectory* ProcessPlaces::directory_of(std::uint32_t pid) const {
  std::uint32_t process = pid;
  for (int ancestors = 0; ancestors < kAncestorsMost; ++ancestors) {
    if (const auto found = directories_.find(process); found != directories_.end()) {
      const CurrentDirectory& directory = history_[found->second];
      const bool is_its_own = process == pid || directory.is_first;
      return is_its_own && !directory.path.empty() ? &directory : nullptr;
    }
    const auto parent = parents_.find(process);
    if (parent == parents_.end())
      break;
    process = parent->second;
  }
  return nullptr;
}

std::vector<CurrentDirectory> ProcessPlaces::all_directories() const {
  std::vector<CurrentDirectory> all = history_;
  for (CurrentDirectory& directory : all)
    if (directory.is_first && are_moves_known_)
      directory.since_ns = 0;
  for (const auto& [pid, parent] : parents_)
    if (const CurrentDirectory* inherited = directory_of(pid);
        inherited && !directories_.contains(pid)) {
      all.push_back(*inherited);
      all.back().pid = pid;
      all.back().since_ns = 0;
    }
  std::ranges::stable_sort(all, {}, [](const CurrentDirectory& directory) {
    return std::pair(directory.pid, directory.since_ns);
  });
  return all;
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
