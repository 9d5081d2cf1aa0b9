// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/timeline.hpp"

#include <gtest/gtest.h>

#include <map>

namespace iotrail::output {
namespace {

TEST(timeline, spans_within_one_another_share_a_lane) {
  LaneFinder lanes(true);
  EXPECT_EQ(lanes.rank_of(0, 100), 0U);
  EXPECT_EQ(lanes.rank_of(0, 50), 0U);
  EXPECT_EQ(lanes.rank_of(50, 100), 0U);
  EXPECT_EQ(lanes.rank_of(60, 60), 0U);
  EXPECT_EQ(lanes.rank_of(100, 110), 0U);
}

TEST(timeline, spans_that_cross_get_lanes_of_their_own) {
  LaneFinder lanes(true);
  EXPECT_EQ(lanes.rank_of(0, 10), 0U);
  EXPECT_EQ(lanes.rank_of(5, 15), 1U);
  EXPECT_EQ(lanes.rank_of(10, 20), 0U);
  EXPECT_EQ(lanes.rank_of(16, 30), 1U);
}

TEST(timeline, requests_of_a_device_do_not_lie_within_one_another) {
  LaneFinder lanes(false);
  EXPECT_EQ(lanes.rank_of(0, 100), 0U);
  EXPECT_EQ(lanes.rank_of(10, 20), 1U);
  EXPECT_EQ(lanes.rank_of(15, 18), 2U);
  EXPECT_EQ(lanes.rank_of(20, 25), 1U);
}

// In a forged trace all spans may cross.
TEST(timeline, many_lanes_are_found_fast_and_never_cross) {
  constexpr std::uint64_t kSpans = 200'000;
  LaneFinder lanes(true);
  std::map<std::size_t, std::uint64_t> last_end;
  for (std::uint64_t i = 0; i < kSpans; ++i) {
    const std::size_t rank = lanes.rank_of(i, kSpans + i);
    EXPECT_LE(last_end[rank], i);
    last_end[rank] = kSpans + i;
  }
  EXPECT_EQ(last_end.size(), kSpans);
}

} // namespace
} // namespace iotrail::output
