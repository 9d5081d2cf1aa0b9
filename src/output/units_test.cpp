// SPDX-License-Identifier: BSD-3-Clause
#include "output/units.hpp"

#include <gtest/gtest.h>

namespace iotrail::output {
namespace {

TEST(units, bytes_have_three_digits_and_never_1024_of_a_unit) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.00 KiB");
  EXPECT_EQ(human_bytes(10 * 1024), "10.0 KiB");
  EXPECT_EQ(human_bytes(1024 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(human_bytes(1500ULL << 20U), "1.46 GiB");
  EXPECT_EQ(human_bytes(UINT64_MAX), "16.0 EiB");
}

TEST(units, durations_have_three_digits_and_never_1000_of_a_unit) {
  EXPECT_EQ(human_duration(0), "0 ns");
  EXPECT_EQ(human_duration(999), "999 ns");
  EXPECT_EQ(human_duration(1000), "1.00 us");
  EXPECT_EQ(human_duration(9'999), "10.0 us");
  EXPECT_EQ(human_duration(999'499), "999 us");
  EXPECT_EQ(human_duration(999'999), "1.00 ms");
  EXPECT_EQ(human_duration(999'999'999), "1.00 s");
  EXPECT_EQ(human_duration(61'000'000'000), "61.0 s");
  EXPECT_EQ(human_duration(125'000'000'000), "2 min 05 s");
  EXPECT_EQ(human_duration(7'260'000'000'000), "2 h 01 min");
}

TEST(units, counts_are_grouped) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1,000");
  EXPECT_EQ(human_count(1234567), "1,234,567");
}

} // namespace
} // namespace iotrail::output
