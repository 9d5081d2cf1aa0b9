// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/machine/disk_counters.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "capture/session/machine/dirty_limits.hpp"
#include "store/test_support.hpp"

namespace iotrail::capture {
namespace {

namespace fs = std::filesystem;

class DiskCountersTest : public ::testing::Test {
protected:
  DiskCountersTest() { filter_.whole_system = true; }

  void write(const std::string& file, const std::string& text) {
    const fs::path path = folder_ / "block" / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void make_disk(const std::string& name, const std::string& stat, const std::string& device) {
    fs::create_directories(folder_ / "block" / name / "mq");
    write(name + "/stat", stat);
    write(name + "/dev", device);
    write(name + "/queue/iostats", "1\n");
    write(name + "/queue/max_sectors_kb", "1280\n");
  }
  std::vector<DiskCounters> read() { return read_disk_counters(folder_.path()); }

  store::testing::TemporaryDirectory folder_;
  Filter filter_;
};

// reads, merges, sectors, ms; the same of writes; in flight, ms, ms; discards; flushes, ms
constexpr const char* kBefore = "1 0 8 5  2 0 16 5  3 9 9  1 0 32 1  4 1\n";
constexpr const char* kAfter = "2 0 24 5  3 0 80 5  0 9 9  1 0 32 1  7 1\n";

TEST_F(DiskCountersTest, counters_are_bytes_and_flushes) {
  make_disk("sda", kBefore, "8:0\n");
  const std::vector<DiskCounters> disks = read();
  ASSERT_EQ(disks.size(), 1U);
  EXPECT_EQ(disks[0].name, "sda");
  EXPECT_EQ(disks[0].device, 8U << 20U);
  EXPECT_EQ(disks[0].sums, (store::DiskSums{8 * 512, 16 * 512, 32 * 512, 4}));
  EXPECT_EQ(disks[0].in_flight, 3U);
  EXPECT_EQ(disks[0].request_max_bytes, 1280U << 10U);
}

TEST_F(DiskCountersTest, disks_without_requests_or_counters_have_none) {
  make_disk("sda", kBefore, "8:0\n");
  write("sda/queue/iostats", "0\n");
  make_disk("sdb", "1 0 8 5 2 0 16 5 3 9 9\n", "8:16\n");
  make_disk("dm-0", kBefore, "253:0\n");
  fs::remove(folder_ / "block/dm-0/mq");
  EXPECT_TRUE(read().empty());
}

TEST_F(DiskCountersTest, a_report_has_the_growth) {
  make_disk("sda", kBefore, "8:0\n");
  make_disk("sdb", kBefore, "8:16\n");
  const std::vector<DiskCounters> begin = read();
  make_disk("sda", kAfter, "8:0\n");
  const std::vector<DiskCounters> end = read();
  const std::vector<store::DiskReport> all = report_disks(begin, end, filter_, true);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].sums, (store::DiskSums{16 * 512, 64 * 512, 0, 3}));
  EXPECT_EQ(all[0].in_flight, 3U) << "at the begin";
  EXPECT_EQ(all[0].begin_ns, begin[0].read_ns);
  EXPECT_EQ(all[0].end_ns, end[0].read_ns);
  EXPECT_EQ(all[0].recorded, store::DiskCoverage::all);
  EXPECT_EQ(all[1].sums, store::DiskSums{});
  const std::vector<store::DiskReport> unrecorded = report_disks(begin, end, filter_, false);
  ASSERT_EQ(unrecorded.size(), 1U) << "an idle disk says nothing";
  EXPECT_EQ(unrecorded[0].name, "sda");
  EXPECT_EQ(unrecorded[0].recorded, store::DiskCoverage::none);
}

TEST_F(DiskCountersTest, a_disk_that_came_later_counts_from_0) {
  const std::vector<DiskCounters> none;
  make_disk("sda", kAfter, "8:0\n");
  EXPECT_EQ(report_disks(none, read(), filter_, true).at(0).sums,
            (store::DiskSums{24 * 512, 80 * 512, 32 * 512, 7}));
  const std::vector<DiskCounters> other = read();
  make_disk("sda", kBefore, "8:0\n");
  EXPECT_EQ(report_disks(other, read(), filter_, true).at(0).sums,
            (store::DiskSums{8 * 512, 16 * 512, 32 * 512, 4}));
}

TEST(dirty_limits, only_strict_ones_of_mounted_file_systems) {
  const store::testing::TemporaryDirectory bdi;
  const auto make = [&](const std::string& device, int ratio, int strict) {
    const std::filesystem::path folder = bdi / device;
    std::filesystem::create_directory(folder);
    std::ofstream(folder / "max_ratio") << ratio << "\n";
    std::ofstream(folder / "strict_limit") << strict << "\n";
  };
  make("0:38", 1, 1);
  make("0:39", 100, 0);
  make("0:40", 5, 1);
  const std::vector<Mount> mounts = {{.device = 38}, {.device = 39}, {.device = 41}};
  const std::map<std::string, std::string> expected = {{"iotrail.dirty.38", "1"}};
  EXPECT_EQ(strict_dirty_limits(mounts, bdi.path()), expected);
}

} // namespace
} // namespace iotrail::capture
