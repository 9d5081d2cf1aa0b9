// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/aggregate/aggregate_collector.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "store/test_support.hpp"

namespace iotrail::capture::kernel {
namespace {

// A program that touches files without end would fill the memory with them.
TEST(AggregateCollector, keeps_of_an_interval_no_row_of_each_file) {
  const store::testing::TemporaryDirectory directory;
  const auto writer = store::testing::create(directory / "t.iotrail");
  KernelIds ids;
  std::optional<std::vector<rows::event_sums>> shown;
  AggregateCollector collector;
  collector.configure({.interval_ns = 100, .rows = 0, .on_interval = [&](auto rows) {
                         shown = {rows.begin(), rows.end()};
                       }});
  collector.begin(1000);
  constexpr iot_u32 kFiles = 10'000;
  for (std::uint64_t now_ns : {1040U, 1080U, 1110U}) {
    std::map<AggregateKey, AggregateValues> aggregates;
    for (iot_u32 file = 1; file <= kFiles; ++file)
      aggregates[{.kind = IOT_KIND_syscall_write,
                  .operation = IOT_syscall_write,
                  .pid = file % 7,
                  .file = file,
                  .error = file % 2 == 0 ? 0 : -5,
                  .bucket = bucket_of(1000)}] = {
          .events = 2, .bytes = 10, .duration_ns = 2000, .max_ns = now_ns + file};
    EXPECT_FALSE(shown);
    collector.write(aggregates, now_ns, ids, *writer);
  }
  ASSERT_TRUE(shown);
  ASSERT_EQ(shown->size(), 2U);
  for (const rows::event_sums& row : *shown) {
    EXPECT_EQ(row.from_ns, 1000U);
    EXPECT_EQ(row.to_ns, 1110U);
    EXPECT_EQ(row.events, 3U * kFiles);
    EXPECT_EQ(row.bytes, 15U * kFiles);
    EXPECT_EQ(row.duration_ns, 3000U * kFiles);
    EXPECT_EQ(row.max_ns, 1110 + kFiles - (row.error == 0 ? 0 : 1));
    EXPECT_EQ(row.operation, "write");
    EXPECT_EQ(row.pid, 0U);
    EXPECT_EQ(row.file, 0U);
  }
}

} // namespace
} // namespace iotrail::capture::kernel
