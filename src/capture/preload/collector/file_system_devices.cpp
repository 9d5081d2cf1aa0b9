// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/file_system_devices.hpp"

#include <algorithm>

#include "base/path_below.hpp"

namespace iotrail::capture {
namespace {

bool shows_others(const Mount& mount) {
  return mount.type == "btrfs" || mount.type == "bcachefs" || mount.type == "overlay";
}

iot_u32 find_device(iot_u32 shown, std::string_view path, const std::vector<Mount>& mounts) {
  if (std::ranges::find(mounts, shown, &Mount::device) != mounts.end())
    return shown;
  const Mount* innermost = nullptr;
  for (const Mount& mount : mounts)
    if (is_below(path, mount.point) &&
        (innermost == nullptr || mount.point.size() >= innermost->point.size()))
      innermost = &mount;
  return innermost != nullptr && shows_others(*innermost) ? innermost->device : shown;
}

} // namespace

iot_u32 FileSystemDevices::of(iot_u32 shown, std::string_view path) {
  if (shown >> IOT_MINOR_BITS != 0) // a disk's own number
    return shown;
  if (const auto known = devices_.find(shown); known != devices_.end())
    return known->second;
  if (devices_.size() == kDevicesMost)
    return shown;
  return devices_.emplace(shown, find_device(shown, path, read_())).first->second;
}

} // namespace iotrail::capture
