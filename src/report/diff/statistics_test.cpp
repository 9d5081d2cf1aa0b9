// SPDX-License-Identifier: BSD-3-Clause
#include "report/diff/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace iotrail::output {
namespace {

using Values = std::vector<double>;

// Pairs (b, a) with a < b; equal ones count half.
double pairs_below(const Values& before, const Values& after) {
  double pairs = 0;
  for (const double b : before)
    for (const double a : after)
      pairs += a < b ? 1 : a == b ? 0.5 : 0;
  return pairs;
}

// All ways to divide the values, one by one: the definition of the test.
double counted_chance(const Values& before, const Values& after) {
  Values all = before;
  all.insert(all.end(), after.begin(), after.end());
  const double middle = static_cast<double>(before.size() * after.size()) / 2;
  const double distance = std::abs(pairs_below(before, after) - middle);
  double as_far = 0;
  double ways = 0;
  for (std::uint32_t chosen = 0; chosen < 1U << all.size(); ++chosen) {
    if (static_cast<std::size_t>(std::popcount(chosen)) != before.size())
      continue;
    Values one;
    Values other;
    for (std::size_t i = 0; i < all.size(); ++i)
      ((chosen >> i & 1U) != 0 ? one : other).push_back(all[i]);
    ++ways;
    as_far += std::abs(pairs_below(one, other) - middle) >= distance ? 1 : 0;
  }
  return as_far / ways;
}

Values random_values(std::mt19937& random, std::size_t count, int most) {
  Values values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(1 + static_cast<double>(random() % static_cast<unsigned>(most)));
  return values;
}

TEST(Statistics, exact_chance_is_that_of_all_divisions) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const Values before = random_values(random, 1 + random() % 6, round % 2 == 0 ? 5 : 1000);
    const Values after = random_values(random, 1 + random() % 6, round % 2 == 0 ? 5 : 1000);
    const RankTest test = rank_test(before, after);
    EXPECT_TRUE(test.is_exact);
    EXPECT_NEAR(test.chance, counted_chance(before, after), 1e-9);
    EXPECT_NEAR(test.smaller_share,
                pairs_below(before, after) / static_cast<double>(before.size() * after.size()),
                1e-12);
  }
}

TEST(Statistics, known_chances_of_few_runs) {
  EXPECT_NEAR(rank_test(Values{1, 2, 3}, Values{4, 5, 6}).chance, 0.1, 1e-12);
  EXPECT_NEAR(rank_test(Values{1, 2, 3, 4}, Values{5, 6, 7, 8}).chance, 2.0 / 70, 1e-12);
  EXPECT_NEAR(rank_test(Values{1}, Values{2}).chance, 1, 1e-12);
  EXPECT_NEAR(rank_test(Values{3, 3, 3}, Values{3, 3, 3}).chance, 1, 1e-12);
}

TEST(Statistics, large_sets_of_one_distribution_differ_by_chance_as_often_as_said) {
  std::mt19937 random(11);
  int below_5_percent = 0;
  constexpr int kRounds = 1000;
  for (int round = 0; round < kRounds; ++round) {
    const Values before = random_values(random, 60, 40);
    const Values after = random_values(random, 50, 40);
    const RankTest test = rank_test(before, after);
    EXPECT_FALSE(test.is_exact);
    below_5_percent += test.chance < 0.05 ? 1 : 0;
  }
  EXPECT_GT(below_5_percent, 30); // 50 expected, the deviation is 7
  EXPECT_LT(below_5_percent, 75);
}

TEST(Statistics, range_of_pair_ratios_holds_as_often_as_it_says) {
  std::mt19937 random(13);
  std::lognormal_distribution<double> tail(0, 0.7);
  for (const std::size_t runs : {2U, 4U, 6U}) {
    int holds = 0;
    double confidence = 0;
    constexpr int kRounds = 2000;
    constexpr double kTruth = 0.6;
    for (int round = 0; round < kRounds; ++round) {
      Values before;
      Values after;
      for (std::size_t i = 0; i < runs; ++i) {
        before.push_back(tail(random));
        after.push_back(kTruth * tail(random));
      }
      const auto range = ratio_by_pairs(before, after);
      ASSERT_TRUE(range);
      confidence = range->confidence;
      holds += range->low <= kTruth && kTruth <= range->high ? 1 : 0;
    }
    EXPECT_NEAR(holds / static_cast<double>(kRounds), confidence, 0.03) << runs;
  }
}

TEST(Statistics, confidence_of_the_widest_range_is_that_of_the_runs) {
  EXPECT_NEAR(ratio_by_pairs(Values{1, 2, 3}, Values{4, 5, 6})->confidence, 0.9, 1e-12);
  const auto four = ratio_by_pairs(Values{1, 1, 1, 1}, Values{2, 2, 2, 4});
  EXPECT_NEAR(four->confidence, 1 - 2.0 / 70, 1e-12);
  EXPECT_EQ(four->low, 2);
  EXPECT_EQ(four->high, 4);
  EXPECT_FALSE(ratio_by_pairs(Values{1}, Values{4}));
}

TEST(Statistics, range_of_quantiles_holds_at_least_as_often_as_it_says) {
  std::mt19937 random(17);
  std::lognormal_distribution<double> tail(10, 1);
  int holds = 0;
  constexpr int kRounds = 1000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::uint64_t> before;
    std::vector<std::uint64_t> after;
    for (int i = 0; i < 200; ++i) {
      before.push_back(static_cast<std::uint64_t>(tail(random)));
      after.push_back(static_cast<std::uint64_t>(2 * tail(random)));
    }
    std::ranges::sort(before);
    std::ranges::sort(after);
    const auto range = ratio_of_quantiles(before, after, 0.9);
    ASSERT_TRUE(range);
    holds += range->low <= 2 && 2 <= range->high ? 1 : 0;
    EXPECT_LT(range->high / range->low, 10);
  }
  EXPECT_GE(holds, kRounds * 95 / 100);
}

TEST(Statistics, no_range_of_what_a_sample_hardly_has) {
  const std::vector<std::uint64_t> hundred(100, 5);
  EXPECT_TRUE(ratio_of_quantiles(hundred, hundred, 0.5));
  EXPECT_FALSE(ratio_of_quantiles(hundred, hundred, 0.999));
  const std::vector<std::uint64_t> zeros(100, 0);
  EXPECT_FALSE(ratio_of_quantiles(zeros, hundred, 0.5));
}

TEST(Statistics, median_is_the_middle) {
  EXPECT_EQ(median_of({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median_of({4, 1, 3}), 3);
  EXPECT_EQ(median_of({}), 0);
}

} // namespace
} // namespace iotrail::output
