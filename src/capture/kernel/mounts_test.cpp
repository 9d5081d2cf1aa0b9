// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/mounts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace iotrail::capture::kernel {
namespace {

TEST(Mounts, lines_with_and_without_optional_words) {
  std::istringstream text(
      "36 35 98:3 /sub /mnt/a rw,noatime master:1 shared:2 - ext4 /dev/vda1 rw\n"
      "37 35 0:21 / /run rw - tmpfs run rw,size=1k\n");
  const std::vector<Mount> mounts = read_mounts(text);
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].id, 36U);
  EXPECT_EQ(mounts[0].device, 98U << 20U | 3U);
  EXPECT_EQ(mounts[0].root, "/sub");
  EXPECT_EQ(mounts[0].point, "/mnt/a");
  EXPECT_EQ(mounts[0].source, "/dev/vda1");
  EXPECT_EQ(mounts[1].device, 21U);
  EXPECT_EQ(mounts[1].source, "run");
}

TEST(Mounts, names_with_blanks_are_written_in_octal) {
  std::istringstream text(R"(1 0 8:1 / /mnt/my\040disk\134x rw - ext4 /dev/a\011b rw)");
  const std::vector<Mount> mounts = read_mounts(text);
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].point, "/mnt/my disk\\x");
  EXPECT_EQ(mounts[0].source, "/dev/a\tb");
}

TEST(Mounts, the_file_system_of_a_path_is_that_of_its_mount) {
  const std::vector<Mount> mounts = read_mounts();
  const auto proc = std::ranges::find(mounts, "/proc", &Mount::point);
  ASSERT_NE(proc, mounts.end());
  EXPECT_EQ(file_system_of("/proc/self/stat"), proc->device);
  EXPECT_EQ(file_system_of("/no/such/file"), 0U);
}

} // namespace
} // namespace iotrail::capture::kernel
