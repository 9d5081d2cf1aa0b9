// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tasks/namespaces.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.hpp"
#include "store/test_support.hpp"

namespace iotrail::capture {
namespace {

iot_u32 inode_at(const char* path) {
  struct stat attributes{};
  return ::stat(path, &attributes) == 0 ? static_cast<iot_u32>(attributes.st_ino) : 0;
}

TEST(Namespaces, of_this_process) {
  const Fd own(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const iot_namespaces namespaces = read_namespaces(own.get());
#define NAMESPACE(name, link) EXPECT_EQ(namespaces.name, inode_at("/proc/self/ns/" link)) << link;
#include "namespaces.def"
#undef NAMESPACE
  EXPECT_NE(namespaces.mount, 0U);
}

TEST(Namespaces, unreadable_ones_are_unknown) {
  const store::testing::TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch.path() / "ns");
  std::filesystem::create_symlink("mnt:[", scratch.path() / "ns/mnt");
  std::filesystem::create_symlink("uts", scratch.path() / "ns/uts");
  std::filesystem::create_symlink("net:[99999999999]", scratch.path() / "ns/net");
  std::filesystem::create_symlink("ipc:[7]", scratch.path() / "ns/ipc");
  const Fd directory(::open(scratch.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  int unread = 0;
  const iot_namespaces namespaces = read_namespaces(directory.get(), [&] { ++unread; });
  EXPECT_EQ(unread, 4); // cgroup, pid, time and user
  EXPECT_EQ(namespaces.mount, 0U);
  EXPECT_EQ(namespaces.uts, 0U);
  EXPECT_EQ(namespaces.network, 0U);
  EXPECT_EQ(namespaces.ipc, 7U);
  EXPECT_EQ(read_namespaces(-1).ipc, 0U);
}

} // namespace
} // namespace iotrail::capture
