// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers of OCTF's tests of its workset, and a bitmap as the naive computation.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analysis/engine/test_engine.hpp"

namespace iotrail::analysis {
namespace {

// Of rows (at, from, until, is_removed).
std::uint64_t peak_in(Engine& engine, std::string_view rows) {
  auto result =
      engine.query(fmt::format("SELECT peak_length(CAST(a AS UBIGINT), CAST(b AS UBIGINT), CAST(c "
                               "AS UBIGINT), d) FROM ({}) AS v(a, b, c, d)",
                               rows));
  EXPECT_TRUE(result.has_value()) << result.error().message();
  EXPECT_TRUE(result->next().value());
  return std::get<std::uint64_t>(result->row()[0]);
}

std::uint64_t peak_of(std::string_view rows) {
  const golden::TestTrace trace("");
  return peak_in(*open(trace), rows);
}

TEST(peak_length, ranges_that_touch_or_repeat_count_once) {
  EXPECT_EQ(peak_of("SELECT i, i * 10, i * 10 + 10, false FROM range(10000) AS r(i)"), 100000);
  EXPECT_EQ(peak_of("SELECT i, i * 20, i * 20 + 10, false FROM range(10000) AS r(i)"), 100000);
  EXPECT_EQ(peak_of("SELECT i, 7, 17, false FROM range(10000) AS r(i)"), 10);
  EXPECT_EQ(peak_of("SELECT i, i * 9, i * 9 + 10, false FROM range(1000) AS r(i)"),
            1000 * 10 - 1000 + 1);
}

TEST(peak_length, a_later_removal_leaves_the_peak) {
  EXPECT_EQ(peak_of("VALUES (1, 0, 100, false), (2, 0, 100, true), (3, 0, 60, false)"), 100);
  EXPECT_EQ(peak_of("VALUES (1, 0, 100, false), (2, 200, 300, false), (3, 50, 250, true)"), 200);
  EXPECT_EQ(peak_of("VALUES (1, 0, 100, false), (2, 200, 300, false), (3, 50, 250, true), (4, 100, "
                    "210, false)"),
            210);
}

TEST(peak_length, reaches_to_the_limits_of_a_number) {
  EXPECT_EQ(
      peak_of("VALUES (1, 5, 9, false), (2, 0, 18446744073709551615, false), (3, 0, 7, true)"),
      18446744073709551615U);
}

TEST(peak_length, a_row_without_a_range_changes_nothing) {
  EXPECT_EQ(peak_of("VALUES (1, 9, 5, false), (2, 7, 7, false), (NULL, 0, 9, false), (4, 1, 3, "
                    "false), (5, 1, NULL, true)"),
            2);
  EXPECT_EQ(peak_of("SELECT 1, 2, 3, false WHERE 1 = 0"), 0);
}

TEST(peak_length, equals_a_bitmap_on_300_random_traces) {
  std::mt19937 random(28);
  const golden::TestTrace trace("");
  const auto engine = open(trace);
  for (int round = 0; round < 300; ++round) {
    constexpr std::size_t kNumbers = 60;
    std::vector<bool> live(kNumbers);
    std::ptrdiff_t peak = 0;
    std::vector<std::string> rows;
    const auto changes = 1 + random() % 40;
    for (unsigned at = 0; at < changes; ++at) {
      const std::size_t from = random() % kNumbers;
      const std::size_t until = from + random() % (kNumbers - from) + 1;
      const bool is_removed = random() % 3 == 0;
      std::fill(live.begin() + static_cast<std::ptrdiff_t>(from),
                live.begin() + static_cast<std::ptrdiff_t>(until), !is_removed);
      peak = std::max(peak, std::ranges::count(live, true));
      rows.push_back(fmt::format("({}, {}, {}, {})", at, from, until, is_removed));
    }
    std::ranges::shuffle(rows, random); // the order of rows says nothing
    ASSERT_EQ(peak_in(*engine, fmt::format("VALUES {}", fmt::join(rows, ", "))),
              static_cast<std::uint64_t>(peak))
        << round;
  }
}

} // namespace
} // namespace iotrail::analysis
