// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/file_system.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "capture/selection/block_device.hpp"
#include "capture/selection/mounts.hpp"

namespace iotrail::capture::kernel {

iot_u32 file_system_of(const std::string& path) {
  struct statx status{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_MNT_ID, &status) != 0)
    return 0;
  if (status.stx_mask & STATX_MNT_ID) {
    const std::vector<Mount> mounts = read_mounts();
    const auto mount = std::ranges::find(mounts, status.stx_mnt_id, &Mount::id);
    if (mount != mounts.end())
      return mount->device;
  }
  return device_number(status.stx_dev_major, status.stx_dev_minor);
}

} // namespace iotrail::capture::kernel
