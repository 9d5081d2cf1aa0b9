// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/known_names.hpp"

#include <iterator>

namespace iotrail::analysis {

void KnownNames::note(const std::string& path, std::uint32_t file) {
  remove(path, file);
  put(path, file, ++last_rank_);
}

void KnownNames::put(const std::string& path, std::uint32_t file, std::uint64_t rank) {
  const auto [name, is_new] = names_.try_emplace({path, file}, rank);
  if (is_new)
    ranked_[{file, rank}] = &name->first.first;
}

bool KnownNames::has(const std::string& path, std::uint32_t file) const {
  return names_.contains({path, file});
}

std::vector<std::uint32_t> KnownNames::files_at(const std::string& path) const {
  std::vector<std::uint32_t> files;
  for (auto name = names_.lower_bound({path, 0}); name != names_.end() && name->first.first == path;
       ++name)
    files.push_back(name->first.second);
  return files;
}

const std::string* KnownNames::latest(std::uint32_t file) const {
  auto after = ranked_.upper_bound({file, UINT64_MAX});
  if (after == ranked_.begin())
    return nullptr;
  --after;
  return after->first.first == file ? after->second : nullptr;
}

KnownNames::Names::iterator KnownNames::erase(Names::iterator name) {
  ranked_.erase({name->first.second, name->second});
  return names_.erase(name);
}

bool KnownNames::remove(const std::string& path, std::uint32_t file) {
  const auto name = names_.find({path, file});
  if (name == names_.end())
    return false;
  erase(name);
  return true;
}

std::vector<KnownName> KnownNames::take_tree(const std::string& path, std::uint32_t only) {
  std::vector<KnownName> taken;
  const auto take = [&](Names::iterator name) {
    taken.push_back({name->first.first, name->first.second, name->second});
    return erase(name);
  };
  for (auto name = names_.lower_bound({path, only}); name != names_.end() &&
                                                     name->first.first == path &&
                                                     (only == 0 || name->first.second == only);)
    name = take(name);
  const std::string below = path + "/";
  for (auto name = names_.lower_bound({below, 0});
       name != names_.end() && name->first.first.starts_with(below);)
    name = take(name);
  return taken;
}

} // namespace iotrail::analysis
