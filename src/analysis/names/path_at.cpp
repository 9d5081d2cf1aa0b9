// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/names/file_paths.hpp"

namespace iotrail::analysis {

std::string_view FilePath::path() const {
  const std::string_view shown = shown_path;
  return is_removed ? shown.substr(0, shown.size() - kDeleted.size()) : shown;
}

const FilePath* path_at(std::span<const FilePath> paths, std::uint32_t file, std::uint64_t ts_ns) {
  const auto later =
      std::ranges::upper_bound(paths, std::pair(file, ts_ns), {},
                               [](const FilePath& p) { return std::pair(p.file, p.since_ns); });
  if (later == paths.begin() || std::prev(later)->file != file)
    return nullptr;
  return &*std::prev(later);
}

} // namespace iotrail::analysis
