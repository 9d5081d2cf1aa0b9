// SPDX-License-Identifier: BSD-3-Clause
//
// How sure a difference between two sets of measurements is, without an assumption on their
// distribution. Durations have long tails: means and t-tests would mislead.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace iotrail::output {

// The rank-sum test of Mann and Whitney, for both directions.
struct RankTest {
  double chance = 1;          // of at least this difference if both sets come from one distribution
  bool is_exact = false;      // over all ways to divide the values; else the normal approximation
  double smaller_share = 0.5; // of pairs with the smaller value in `after`; ties count half
};
RankTest rank_test(std::span<const double> before, std::span<const double> after);

// A range that has the true value with at least the confidence.
struct Range {
  double low = 0;
  double high = 0;
  double confidence = 0;
};

// The range of after/before by all pairs of values, which are above 0 (Hodges and Lehmann). With few
// values a confidence of 95 % is impossible: the widest range has less. nullopt: one value each.
std::optional<Range> ratio_by_pairs(std::span<const double> before, std::span<const double> after);
// The median of these ratios; before must not be empty.
double ratio_of_pairs(std::span<const double> before, std::span<const double> after);

// The range of quantile(after) / quantile(before), from the order statistics of both samples, sorted.
// Each side has a confidence of 97.5 %, so both have at least 95 %. nullopt: the samples are too
// small, or values of 0 leave it open.
std::optional<Range> ratio_of_quantiles(std::span<const std::uint64_t> before,
                                        std::span<const std::uint64_t> after, double quantile);

double median_of(std::vector<double> values); // of none: 0

} // namespace iotrail::output
