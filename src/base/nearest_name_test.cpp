// SPDX-License-Identifier: BSD-3-Clause
#include "base/nearest_name.hpp"

#include <gtest/gtest.h>

namespace iotrail {
namespace {

TEST(nearest_name, counts_the_changes) {
  EXPECT_EQ(edits_between("fsync", "fsync"), 0U);
  EXPECT_EQ(edits_between("fsnyc", "fsync"), 1U);
  EXPECT_EQ(edits_between("sync", "fsync"), 1U);
  EXPECT_EQ(edits_between("fsyncs", "fsync"), 1U);
  EXPECT_EQ(edits_between("read", "write"), 4U);
  EXPECT_EQ(edits_between("", "abc"), 3U);
}

TEST(nearest_name, is_offered_where_it_is_alike) {
  const std::vector<std::string> names = {"sync", "syncfs", "fsync", "fdatasync"};
  EXPECT_EQ(did_you_mean("fsnyc", names), "Did you mean 'fsync'?");
  EXPECT_EQ(did_you_mean("fdatsync", names), "Did you mean 'fdatasync'?");
  EXPECT_EQ(did_you_mean("mmap", names), "");
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean(std::string(100'000, 'f'), names), "");
}

} // namespace
} // namespace iotrail
