// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/file_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "capture/selection/mounts.hpp"

namespace iotrail::capture::kernel {
namespace {

TEST(FileSystem, of_a_path_is_that_of_its_mount) {
  const std::vector<Mount> mounts = read_mounts();
  const auto proc = std::ranges::find(mounts, "/proc", &Mount::point);
  ASSERT_NE(proc, mounts.end());
  EXPECT_EQ(file_system_of("/proc/self/stat"), proc->device);
  EXPECT_EQ(file_system_of("/no/such/file"), 0U);
}

} // namespace
} // namespace iotrail::capture::kernel
