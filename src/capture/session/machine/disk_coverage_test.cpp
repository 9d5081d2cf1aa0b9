// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/machine/disk_coverage.hpp"

#include <gtest/gtest.h>

namespace iotrail::capture {
namespace {

constexpr iot_u32 kDisk = 8U << 20U;

Filter of_all() {
  Filter filter;
  filter.whole_system = true;
  return filter;
}

TEST(DiskCoverage, all_requests_without_a_filter_of_what_they_are_for) {
  EXPECT_EQ(disk_coverage(of_all(), kDisk), store::DiskCoverage::all);
  Filter filter = of_all();
  filter.wanted.names = {"cp"};
  EXPECT_EQ(disk_coverage(filter, kDisk), store::DiskCoverage::followed);
  filter = of_all();
  filter.sample_of = 10;
  EXPECT_EQ(disk_coverage(filter, kDisk), store::DiskCoverage::followed);
  filter = of_all();
  filter.thresholds.bytes = 1;
  EXPECT_EQ(disk_coverage(filter, kDisk), store::DiskCoverage::followed);
  filter = of_all();
  filter.excluded.folders = {"/tmp"};
  EXPECT_EQ(disk_coverage(filter, kDisk), store::DiskCoverage::followed);
  filter = of_all();
  filter.excluded.operations = {"read"};
  EXPECT_EQ(disk_coverage(filter, kDisk), store::DiskCoverage::followed);
}

TEST(DiskCoverage, requests_of_followed_tasks) {
  Filter filter;
  filter.tree_root = 5;
  EXPECT_EQ(disk_coverage(filter, kDisk), store::DiskCoverage::followed);
  filter = {};
  filter.pids = {5};
  EXPECT_EQ(disk_coverage(filter, kDisk), store::DiskCoverage::followed);
  filter = {};
  filter.wanted.files = {"/etc/passwd"};
  EXPECT_EQ(disk_coverage(filter, kDisk), store::DiskCoverage::followed);
}

TEST(DiskCoverage, none_of_a_disk_that_is_not_named) {
  Filter filter;
  filter.wanted.devices = {"/dev/null"}; // no disk
  EXPECT_EQ(disk_coverage(filter, kDisk), store::DiskCoverage::none);
}

} // namespace
} // namespace iotrail::capture
