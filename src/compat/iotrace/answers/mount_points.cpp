// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/answers/mount_points.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "capture/selection/block_device.hpp"
#include "capture/selection/mounts.hpp"

namespace iotrail::compat::iotrace {
namespace {

constexpr std::string_view kMountTag = "iotrace.mount.";

} // namespace

std::map<std::string, std::string> mount_tags(const std::vector<std::uint32_t>& disks) {
  std::map<std::string, std::string> tags;
  for (const capture::Mount& mount : capture::read_mounts()) {
    const std::uint32_t device = capture::kernel::disk_of(mount.source);
    if (device != 0 && mount.root == "/" && std::ranges::find(disks, device) != disks.end())
      tags.try_emplace(fmt::format("{}{}", kMountTag, mount.device), mount.point); // the first one
  }
  return tags;
}

MountPoints::MountPoints(const store::Manifest& manifest) {
  for (const auto& [name, point] : manifest.tags) {
    std::uint64_t device = 0;
    const char* end = name.data() + name.size();
    if (name.starts_with(kMountTag) &&
        std::from_chars(name.data() + kMountTag.size(), end, device).ptr == end)
      points_[device] = point;
  }
}

std::string MountPoints::path_inside(std::uint64_t file_system, std::string path) const {
  const auto found = points_.find(file_system);
  if (found == points_.end() || found->second == "/")
    return path;
  const std::string& point = found->second;
  if (path == point)
    return "/";
  if (path.starts_with(point) && path[point.size()] == '/')
    path.erase(0, point.size());
  return path;
}

} // namespace iotrail::compat::iotrace
