// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/shared/tick_clock.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace iotrail::capture::preload {

TEST(TickClockTest, monotonic_ticks_are_nanoseconds) {
  const TickClock clock(ClockKind::monotonic);
  EXPECT_EQ(clock.to_ns(123), 123U);
}

// A reading lies between two of the clock itself; the machine may pause between them, but never
// reorders them.
TEST(TickClockTest, counter_agrees_with_the_clock) {
  if (TickClock::detect() != ClockKind::tsc)
    GTEST_SKIP() << "the time stamp counter is not the clock of this machine";
  constexpr std::int64_t kToleranceNs = 2000;
  TickClock clock(ClockKind::tsc);
  clock.settle();
  for (int i = 0; i < 50; ++i) {
    const auto before = static_cast<std::int64_t>(monotonic_ns());
    const std::uint64_t ticks = clock.ticks();
    const auto after = static_cast<std::int64_t>(monotonic_ns());
    const auto converted = static_cast<std::int64_t>(clock.to_ns(ticks));
    EXPECT_GE(converted, before - kToleranceNs);
    EXPECT_LE(converted, after + kToleranceNs);
    clock.tick(monotonic_ns());
    usleep(5000);
  }
}

TEST(TickClockTest, ticks_before_the_last_anchor_keep_their_order) {
  if (TickClock::detect() != ClockKind::tsc)
    GTEST_SKIP() << "the time stamp counter is not the clock of this machine";
  TickClock clock(ClockKind::tsc);
  clock.settle();
  std::vector<std::uint64_t> ticks;
  for (int i = 0; i < 20; ++i) {
    ticks.push_back(clock.ticks());
    usleep(5000);
    clock.tick(monotonic_ns());
  }
  for (std::size_t i = 1; i < ticks.size(); ++i)
    EXPECT_LT(clock.to_ns(ticks[i - 1]), clock.to_ns(ticks[i]));
}

} // namespace iotrail::capture::preload
