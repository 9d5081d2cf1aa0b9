// SPDX-License-Identifier: BSD-3-Clause
//
// File systems keep small files inside their metadata: btrfs in its trees, ext4 in inodes. No bio
// has such pages. Bytes that a sync had written without a bio went that way.
#include <vector>

#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

bool has_data_behind(const RangeMap<Dirty>& pages, std::uint64_t begin) {
  bool has_data = false;
  pages.visit(begin, UINT64_MAX, [&](std::uint64_t, std::uint64_t, const Dirty& dirty) {
    has_data |= dirty.is_data();
  });
  return has_data;
}

bool is_on_disk(const State& state, std::uint32_t file) {
  const auto found = state.file_systems.find(file);
  return found != state.file_systems.end() && state.on_disks.contains(found->second);
}

// False: dirty bytes may be left.
bool end_sync_of_file(State& state, std::uint32_t file, const Fact& sync) {
  const auto found = state.files.find(file);
  if (found == state.files.end())
    return true;
  CachedFile& cached = found->second;
  if (cached.stored_ns >= sync.ts_ns || !state.is_sure_of(cached, sync.end_ns()) ||
      !is_on_disk(state, file))
    return false;
  state.looks += cached.dirty.size() + cached.leaving.size();
  if (has_data_behind(cached.dirty, kPageBytes) || has_data_behind(cached.leaving, kPageBytes))
    return false;
  for (RangeMap<Dirty>* pages : {&cached.dirty, &cached.leaving})
    pages->take(0, kPageBytes, [&](std::uint64_t begin, std::uint64_t end, const Dirty& dirty) {
      if (dirty.is_data())
        state.fate(dirty.pid, file).inlined += end - begin;
    });
  return true;
}

bool is_on_file_system(const State& state, std::uint32_t file, const Fact& sync) {
  const auto of_sync = state.file_systems.find(static_cast<std::uint32_t>(sync.file));
  const auto of_file = state.file_systems.find(file);
  return of_sync != state.file_systems.end() && of_file != state.file_systems.end() &&
         of_sync->second == of_file->second;
}

} // namespace

// `bytes` 0: of one file; else of all files, or of those on the file system of `file`.
void end_sync(State& state, const Fact& sync) {
  const auto file = static_cast<std::uint32_t>(sync.file);
  if (!state.has_bios || !state.has_cache_events)
    return;
  if (sync.bytes == 0) {
    if (end_sync_of_file(state, file, sync))
      state.dirty_files.erase(file);
    return;
  }
  state.looks += state.dirty_files.size();
  std::erase_if(state.dirty_files, [&](std::uint32_t dirty) {
    return (file == 0 || is_on_file_system(state, dirty, sync)) &&
           end_sync_of_file(state, dirty, sync);
  });
}

} // namespace iotrail::trail
