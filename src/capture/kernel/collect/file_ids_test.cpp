// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/collect/file_ids.hpp"

#include <gtest/gtest.h>

namespace iotrail::capture::kernel {
namespace {

constexpr iot_u32 kPage = 4096;

TEST(FileIds, of_files_without_end_keep_the_ones_in_use) {
  FileIds ids(4);
  ids.set(7, 70);
  for (iot_u32 local = kPage; local < 100 * kPage; ++local) {
    ids.set(local, local + 1);
    ASSERT_EQ(ids.lookup().find(local), local + 1);
    if (local % kPage == 0) {
      ASSERT_EQ(ids.lookup().find(7), 70U) << "used all the time";
    }
  }
  EXPECT_EQ(ids.forgotten(), 0U);
  EXPECT_EQ(ids.lookup().find(98 * kPage), 98 * kPage + 1);
  EXPECT_EQ(ids.lookup().find(50 * kPage), 0U);
  EXPECT_EQ(ids.forgotten(), 1U);
}

TEST(FileIds, of_numbers_that_begin_again_are_those_of_the_new_files) {
  FileIds ids(4);
  ids.set(IOT_FILE_NUMBER, 5);
  ids.set(1, 6);
  EXPECT_EQ(ids.lookup().find(IOT_FILE_NUMBER | IOT_FILE_UNWANTED), 0U + 5);
  EXPECT_EQ(ids.lookup().find(1), 6U);
  EXPECT_EQ(ids.lookup().find(0), 0U);
  EXPECT_EQ(ids.lookup().find(2), 0U) << "its message was lost";
  EXPECT_EQ(ids.forgotten(), 0U);
}

} // namespace
} // namespace iotrail::capture::kernel
