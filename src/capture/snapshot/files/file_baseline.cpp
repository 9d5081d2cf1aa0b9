// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/files/file_baseline.hpp"

#include <algorithm>
#include <utility>

#include <xxhash.h>

namespace iotrail::capture::snapshot {
namespace {

// Keeps the last entry of a file noted several times; drops removed files.
void sort_files(BaselineFiles& files) {
  std::ranges::stable_sort(files, {}, &BaselineFile::name);
  std::ranges::reverse(files);
  const auto twins = std::ranges::unique(files, {}, &BaselineFile::name);
  files.erase(twins.begin(), twins.end());
  std::ranges::reverse(files);
  std::erase_if(files, [](const BaselineFile& file) { return file.is_removed; });
}

} // namespace

std::uint64_t fingerprint(const iot_snapshot_file& file) {
  const std::uint64_t words[] = {
      file.bytes,
      file.allocated_bytes,
      file.inode,
      static_cast<std::uint64_t>(file.modified_ns),
      static_cast<std::uint64_t>(file.changed_ns),
      static_cast<std::uint64_t>(file.born_ns),
      static_cast<std::uint64_t>(file.mode) << 32U | file.links,
      static_cast<std::uint64_t>(file.uid) << 32U | file.gid,
      file.node_device,
  };
  return XXH3_64bits(words, sizeof(words));
}

BaselineFiles FileBaseline::take(const std::string& directory) {
  const auto found = directories_.find(directory);
  if (found == directories_.end())
    return {};
  BaselineFiles files = std::move(found->second);
  directories_.erase(found);
  return files;
}

void FileBaseline::put(const std::string& directory, BaselineFiles files) {
  if (files.empty())
    return;
  std::ranges::sort(files, {}, &BaselineFile::name);
  directories_[directory] = std::move(files);
}

void FileBaseline::sort() {
  for (auto& [directory, files] : directories_)
    sort_files(files);
}

BaselineFile* find_known(BaselineFiles& files, std::string_view name) {
  const auto found = std::ranges::lower_bound(files, name, {}, &BaselineFile::name);
  return found != files.end() && found->name == name ? &*found : nullptr;
}

std::string path_below(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/'))
    path += '/';
  return path.append(name);
}

} // namespace iotrail::capture::snapshot
