// SPDX-License-Identifier: BSD-3-Clause
#include "capture/containers.hpp"

#include <gtest/gtest.h>

#include <string>

#include "store/test_support.hpp"

namespace iotrail::capture {
namespace {

const std::string kId = "3f4ea1b2c3d4" + std::string(52, '7');

TEST(Containers, names_that_runtimes_give) {
  for (const std::string& group :
       {kId, "docker-" + kId + ".scope", "cri-containerd-" + kId + ".scope",
        "libpod-" + kId + ".scope", "crio-" + kId + ".scope"}) {
    EXPECT_TRUE(is_group_of_container(group, kId)) << group;
    EXPECT_TRUE(is_group_of_container(group, kId.substr(0, 12))) << group;
    EXPECT_FALSE(is_group_of_container(group, kId.substr(0, 11))) << group;
    EXPECT_FALSE(is_group_of_container(group, kId.substr(1))) << group;
  }
  EXPECT_TRUE(is_group_of_container("lxc.payload.web", "web"));
  EXPECT_TRUE(is_group_of_container("machine-web.scope", "web"));
}

TEST(Containers, what_is_none) {
  EXPECT_FALSE(is_group_of_container("libpod-conmon-" + kId + ".scope", kId));
  EXPECT_FALSE(is_group_of_container("lxc.monitor.web", "web"));
  EXPECT_FALSE(is_group_of_container("web.service", "web"));
  EXPECT_FALSE(is_group_of_container("lxc.payload.web2", "web"));
  EXPECT_FALSE(is_group_of_container("lxc.payload.", ""));
  EXPECT_FALSE(is_group_of_container("docker-3f4ea1b2c3d4.scope", "3f4ea1b2c3d4"));
}

TEST(Containers, outermost_groups_are_found) {
  const store::testing::TemporaryDirectory scratch;
  const std::filesystem::path& hierarchy = scratch.path();
  const auto group = hierarchy / "system.slice" / ("docker-" + kId + ".scope");
  std::filesystem::create_directories(group / "lxc.payload.web");
  std::filesystem::create_directories(hierarchy / "lxc.payload.web");
  EXPECT_EQ(groups_of_container(hierarchy, kId.substr(0, 12)), std::vector{group});
  EXPECT_EQ(groups_of_container(hierarchy, "web").size(), 2U);
  EXPECT_TRUE(groups_of_container(hierarchy, "db").empty());
  EXPECT_TRUE(groups_of_container(hierarchy / "gone", "web").empty());
}

} // namespace
} // namespace iotrail::capture
