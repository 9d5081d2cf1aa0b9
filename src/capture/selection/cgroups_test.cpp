// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/cgroups.hpp"

#include <gtest/gtest.h>

namespace iotrail::capture {
namespace {

TEST(cgroups, the_unified_hierarchy_is_found_among_others) {
  EXPECT_EQ(unified_cgroup("9:name=systemd:/a\n4:memory:/b\n0::/c/d\n"), "/c/d");
  EXPECT_EQ(unified_cgroup("0::/"), "/");
  EXPECT_EQ(unified_cgroup("4:memory:/b\n"), "");
  EXPECT_EQ(unified_cgroup(""), "");
}

TEST(cgroups, a_group_without_a_path_is_named_by_its_id) {
  Cgroups cgroups;
  EXPECT_EQ(cgroups.path_of(0), "");
  EXPECT_EQ(cgroups.path_of(1), "/");
  EXPECT_EQ(cgroups.path_of(UINT64_MAX), "id 18446744073709551615");
}

} // namespace
} // namespace iotrail::capture
