// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/pseudo_file_systems.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace iotrail::capture {
namespace {

iot_u32 device_of(const char* path) {
  struct stat status{};
  EXPECT_EQ(::stat(path, &status), 0) << path;
  return major(status.st_dev) << 20U | minor(status.st_dev);
}

TEST(PseudoFileSystems, are_those_with_kernel_state) {
  for (const char* const path : {"/proc/self/status", "/proc/self/ns/pid", "/sys/kernel"})
    EXPECT_TRUE(is_on_pseudo_file_system(path)) << path;
  for (const char* const path : {"/", "/dev/null", "/dev/pts", "/no/such/file"})
    EXPECT_FALSE(is_on_pseudo_file_system(path)) << path;
}

TEST(PseudoFileSystems, are_known_by_their_devices) {
  PseudoDevices devices;
  EXPECT_TRUE(devices.contains(device_of("/proc/self/status")));
  EXPECT_TRUE(devices.contains(device_of("/sys/kernel")));
  EXPECT_FALSE(devices.contains(device_of("/dev/null")));
  EXPECT_FALSE(devices.contains(device_of("/")));
  EXPECT_FALSE(devices.contains(0xfffff)) << "mounted nowhere";
}

} // namespace
} // namespace iotrail::capture
