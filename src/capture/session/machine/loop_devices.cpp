// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/machine/loop_devices.hpp"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/fd.hpp"
#include "capture/selection/block_device.hpp"
#include "capture/selection/mounts.hpp"

namespace iotrail::capture {
namespace {

namespace fs = std::filesystem;

struct Loop {
  std::string name;
  iot_u32 disk;                       // its own number
  std::vector<iot_u32> disks_below{}; // of the file system with its file
};

std::vector<iot_u32> disks_of_file_system(iot_u32 device, const std::vector<Mount>& mounts) {
  std::vector<iot_u32> disks = {kernel::whole_disk(device)};
  for (const Mount& mount : mounts)
    if (mount.device == device)
      disks.push_back(kernel::disk_of(mount.source));
  return disks;
}

std::vector<Loop> read_loops() {
  const std::vector<Mount> mounts = read_mounts();
  std::vector<Loop> loops;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/block", error)) {
    std::error_code unreadable;
    if (!fs::exists(entry.path() / "loop", unreadable))
      continue;
    const std::string name = entry.path().filename();
    const std::string node = "/dev/" + name;
    const Fd file(::open(node.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    loop_info64 status{};
    if (!file || ::ioctl(file.get(), LOOP_GET_STATUS64, &status) != 0)
      continue;
    loops.push_back(
        {.name = name,
         .disk = kernel::disk_of(node),
         .disks_below = disks_of_file_system(kernel::kernel_device(status.lo_device), mounts)});
  }
  return loops;
}

} // namespace

std::vector<std::string> loop_devices_on(iot_u32 disk) {
  std::vector<Loop> left = read_loops();
  std::vector<iot_u32> disks = {disk};
  std::vector<std::string> names;
  for (std::size_t next = 0; next < disks.size(); ++next)
    std::erase_if(left, [&](const Loop& loop) {
      if (std::ranges::find(loop.disks_below, disks[next]) == loop.disks_below.end())
        return false;
      disks.push_back(loop.disk);
      names.push_back(loop.name);
      return true;
    });
  std::ranges::sort(names);
  return names;
}

} // namespace iotrail::capture
