// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/mounts.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace iotrail::capture {
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

TEST(Mounts, options_of_the_mount_and_of_the_file_system) {
  std::istringstream text("36 35 98:3 / /mnt rw,noatime - ext4 /dev/vda1 rw,data=ordered\n");
  const std::vector<Mount> mounts = read_mounts(text);
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].parent, 35U);
  EXPECT_EQ(mounts[0].type, "ext4");
  EXPECT_EQ(mounts[0].options, "rw,noatime");
  EXPECT_EQ(mounts[0].file_system_options, "rw,data=ordered");
}

TEST(Mounts, a_line_that_is_none_does_no_harm) {
  std::istringstream text("garbage\n\n1 0 8:1 / /a\\ rw - x y\\9 z\\04\n");
  const std::vector<Mount> mounts = read_mounts(text);
  ASSERT_EQ(mounts.size(), 3U);
  EXPECT_EQ(mounts[2].point, "/a\\");
  EXPECT_EQ(mounts[2].source, "y\\9");
  EXPECT_EQ(mounts[2].file_system_options, "z\\04");
}

} // namespace
} // namespace iotrail::capture
