// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/file_system_devices.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace iotrail::capture {
namespace {

int times_read = 0;

std::vector<Mount> mounts_with_btrfs() {
  ++times_read;
  std::istringstream mountinfo("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                               "2 1 0:41 /home /home rw - btrfs /dev/sdb rw\n"
                               "3 2 0:50 / /home/t rw - tmpfs tmpfs rw\n");
  return read_mounts(mountinfo);
}

TEST(file_system_devices, a_subvolume_has_the_device_of_its_file_system) {
  FileSystemDevices devices(mounts_with_btrfs);
  times_read = 0;
  EXPECT_EQ(devices.of(43, "/home/a"), 41U);
  EXPECT_EQ(devices.of(43, "/elsewhere"), 41U) << "it is known";
  EXPECT_EQ(times_read, 1);
}

TEST(file_system_devices, others_are_what_stat_shows) {
  FileSystemDevices devices(mounts_with_btrfs);
  EXPECT_EQ(devices.of(8U << 20U | 1U, "/home/a"), 8U << 20U | 1U);
  EXPECT_EQ(devices.of(50, "/home/t/a"), 50U);
  EXPECT_EQ(devices.of(60, "/home/t/a"), 60U) << "tmpfs shows its own";
  EXPECT_EQ(devices.of(61, "/homely"), 61U);
}

TEST(file_system_devices, a_program_that_names_any_device_costs_little) {
  FileSystemDevices devices(mounts_with_btrfs);
  times_read = 0;
  for (iot_u32 device = 1000; device < 3000; ++device)
    EXPECT_EQ(devices.of(device, "/home/a"), device < 1256 ? 41U : device);
  EXPECT_EQ(times_read, 256);
}

} // namespace
} // namespace iotrail::capture
