// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/containers.hpp"

#include <gtest/gtest.h>

#include <string>

#include "store/test_support.hpp"

namespace iotrail::capture {
namespace {

const std::string kId = "3f4ea1b2c3d4" + std::string(52, '7');
const std::string kOther = "00aa11bb22cc" + std::string(52, 'f');
const std::string kPod = "pod8f3c2a10_5b1d_4c62_9d0a_1f2e3d4c5b6a";

TEST(Containers, paths_that_runtimes_make) {
  const std::string kubelet =
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" + kPod + ".slice/";
  for (const std::string& group : {
           "/system.slice/docker-" + kId + ".scope",
           "/docker/" + kId,
           "/docker/" + kId + "/init.scope",
           "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + kId + ".scope",
           kubelet + "cri-containerd-" + kId + ".scope",
           kubelet + "crio-" + kId + ".scope",
           kubelet + "docker-" + kId + ".scope",
           "/kubepods/besteffort/" + kPod + "/" + kId,
           "/kubepods/" + kPod + "/" + kId,
           "/machine.slice/libpod-" + kId + ".scope",
           "/machine.slice/libpod-" + kId + ".scope/container",
           "/libpod_parent/libpod-" + kId,
           "/system.slice/nerdctl-" + kId + ".scope",
           "/ecs/0123456789abcdef0123456789abcdef/" + kId,
           "/../../system.slice/docker-" + kId + ".scope/system.slice/cron.service",
       })
    EXPECT_EQ(container_of(group), kId) << group;
  EXPECT_EQ(container_of("/lxc/web"), "web");
  EXPECT_EQ(container_of("/lxc/100/ns/system.slice/cron.service"), "100");
  EXPECT_EQ(container_of("/lxc.payload.web/init.scope"), "web");
  EXPECT_EQ(container_of("/lxc.payload/web"), "web");
  EXPECT_EQ(container_of("/machine.slice/machine-web.scope/payload"), "web");
  EXPECT_EQ(container_of("/machine.slice/machine-my\\x2dweb.scope"), "my-web");
  EXPECT_EQ(container_of("/machine.slice/systemd-nspawn@web.service/payload"), "web");
}

TEST(Containers, the_inner_one_of_nested_containers_counts) {
  EXPECT_EQ(container_of("/docker/" + kOther + "/kubepods/" + kPod + "/" + kId), kId);
  EXPECT_EQ(container_of("/lxc.payload.web/docker/" + kId), kId);
}

TEST(Containers, groups_that_are_no_container) {
  for (const std::string& group : {
           std::string(),
           std::string("/"),
           std::string("id 7"),
           std::string("/system.slice/cron.service"),
           std::string("/system.slice/lxc.service"),
           std::string("/lxc"),
           std::string("/machine.slice"),
           std::string("/machine.slice/machine-extra.slice"),
           "/kubepods.slice/kubepods-burstable-" + kPod + ".slice",
           "/machine.slice/libpod-conmon-" + kId + ".scope",
           "/system.slice/crio-conmon-" + kId + ".scope",
           std::string("/lxc.monitor.web"),
           std::string("/system.slice/docker-3f4ea1b2c3d4.scope"),
           "/docker/" + kId + "0",
           "/docker/" + kId.substr(1) + "G",
       })
    EXPECT_EQ(container_of(group), "") << group;
}

TEST(Containers, names_are_hostile) {
  EXPECT_EQ(container_of("/lxc/\x1b[31m\xff"), "\x1b[31m\xff"); // not printable() yet
  EXPECT_EQ(container_of("/machine-a\\x2"), "a\\x2");
  EXPECT_EQ(container_of("/machine-\\x0a\\xzz\\x"), "\\x0a\\xzz\\x");
  EXPECT_EQ(container_of("/lxc.payload."), "");
  EXPECT_EQ(container_of("///lxc//"), "");
  EXPECT_EQ(container_of(std::string(100'000, '/') + std::string(100'000, '-')), "");
}

TEST(Containers, ids_may_be_cut_and_names_may_not) {
  EXPECT_TRUE(is_called(kId, kId));
  EXPECT_TRUE(is_called(kId, kId.substr(0, 12)));
  EXPECT_FALSE(is_called(kId, kId.substr(0, 11)));
  EXPECT_FALSE(is_called(kId, kId.substr(1)));
  EXPECT_TRUE(is_called("web", "web"));
  EXPECT_FALSE(is_called("web2", "web"));
  EXPECT_FALSE(is_called("a-name-of-many-letters", "a-name-of-ma"));
  EXPECT_FALSE(is_called("", ""));
}

TEST(Containers, their_groups_are_found) {
  const store::testing::TemporaryDirectory scratch;
  const std::filesystem::path& hierarchy = scratch.path();
  const auto group = hierarchy / "system.slice" / ("docker-" + kId + ".scope");
  std::filesystem::create_directories(group / "lxc.payload.web");
  std::filesystem::create_directories(hierarchy / "lxc" / "db" / "ns");
  std::filesystem::create_directory_symlink(group, hierarchy / "lxc.payload.link");
  EXPECT_EQ(find_container_groups(hierarchy),
            (std::vector<ContainerGroup>{
                {hierarchy / "lxc/db", "db"}, {group, kId}, {group / "lxc.payload.web", "web"}}));
  EXPECT_TRUE(find_container_groups(hierarchy / "gone").empty());
}

} // namespace
} // namespace iotrail::capture
