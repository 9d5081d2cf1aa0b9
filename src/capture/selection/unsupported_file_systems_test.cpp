// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/unsupported_file_systems.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace iotrail::capture {
namespace {

constexpr iot_u32 kNoDevice = 0xfffff; // mounted nowhere

TEST(UnsupportedFileSystems, are_those_without_events_of_their_own) {
  UnsupportedFileSystems seen;
  for (const iot_u32 magic : {0xef53U, 0x58465342U, 0x9123683eU, 0x9fa0U, 0x62656572U})
    seen.see(magic, kNoDevice);
  EXPECT_TRUE(seen.names().empty()) << "ext4, xfs, btrfs, proc, sysfs";
  for (const iot_u32 magic : {0xf2f52010U, 0x1021994U, 0xf2f52010U})
    seen.see(magic, kNoDevice);
  EXPECT_EQ(seen.names(), (std::vector<std::string>{"f2fs", "tmpfs"}));
}

TEST(UnsupportedFileSystems, have_the_names_of_their_mounts_if_no_other) {
  UnsupportedFileSystems seen;
  struct stat status{};
  ASSERT_EQ(::stat("/proc", &status), 0);
  seen.see(0x1234, major(status.st_dev) << 20U | minor(status.st_dev));
  seen.see(0x1235, kNoDevice);
  EXPECT_EQ(seen.names(), (std::vector<std::string>{"file system 0x1235", "proc"}));
}

} // namespace
} // namespace iotrail::capture
