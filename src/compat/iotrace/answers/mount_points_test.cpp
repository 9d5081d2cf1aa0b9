// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/answers/mount_points.hpp"

#include <gtest/gtest.h>

namespace iotrail::compat::iotrace {
namespace {

TEST(IotraceMountPoints, paths_begin_at_the_mount_point) {
  store::Manifest manifest;
  manifest.tags = {
      {"iotrace.mount.8388609", "/mnt"}, {"iotrace.mount.x", "/"}, {"iotrace.mount.9", "/"}};
  const MountPoints points(manifest);
  EXPECT_EQ(points.path_inside(8388609, "/mnt/a/b"), "/a/b");
  EXPECT_EQ(points.path_inside(8388609, "/mnt"), "/");
  EXPECT_EQ(points.path_inside(8388609, "/mnt2/a"), "/mnt2/a");
  EXPECT_EQ(points.path_inside(9, "/a"), "/a");
  EXPECT_EQ(points.path_inside(7, "/mnt/a"), "/mnt/a");
  EXPECT_EQ(points.path_inside(8388609, ""), "");
}

} // namespace
} // namespace iotrail::compat::iotrace
