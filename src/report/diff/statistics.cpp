// SPDX-License-Identifier: BSD-3-Clause
#include "report/diff/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace iotrail::output {

namespace {

constexpr std::size_t kExactValues = 40; // up to here all divisions are counted
constexpr double kTail = 0.025;          // on each side of a range of 95 %
constexpr double kTailOfOne = 0.0125;    // the same if two ranges must hold together

// The ranks of all values, twice, so that the mean rank of equal values is whole.
struct Ranks {
  std::vector<std::uint32_t> doubled; // those of `before`, then those of `after`
  double tie_term = 0;                // sum of t^3 - t over groups of t equal values
};

Ranks ranks_of(std::span<const double> before, std::span<const double> after) {
  std::vector<double> values(before.begin(), before.end());
  values.insert(values.end(), after.begin(), after.end());
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t at) { return values[at]; });
  Ranks ranks{.doubled = std::vector<std::uint32_t>(values.size())};
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]])
      ++end;
    for (std::size_t i = begin; i < end; ++i)
      ranks.doubled[order[i]] = static_cast<std::uint32_t>(begin + 1 + end);
    const auto ties = static_cast<double>(end - begin);
    ranks.tie_term += ties * ties * ties - ties;
    begin = end;
  }
  return ranks;
}

// For each sum, the share of the ways to choose `chosen` of the numbers that have it.
std::vector<double> distribution_of_sums(std::span<const std::uint32_t> numbers,
                                         std::size_t chosen) {
  const std::size_t most = std::accumulate(numbers.begin(), numbers.end(), std::size_t{0});
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(most + 1));
  ways[0][0] = 1;
  for (const std::uint32_t number : numbers)
    for (std::size_t taken = chosen; taken > 0; --taken)
      for (std::size_t sum = most; sum + 1 > number; --sum)
        ways[taken][sum] += ways[taken - 1][sum - number];
  std::vector<double>& shares = ways[chosen];
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares)
    share /= all;
  return shares;
}

double exact_chance(const Ranks& ranks, std::size_t chosen, double sum, double expected) {
  const std::vector<double> shares = distribution_of_sums(ranks.doubled, chosen);
  double chance = 0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (std::abs(static_cast<double>(i) - expected) >= std::abs(sum - expected))
      chance += shares[i];
  return std::min(1.0, chance);
}

// With the corrections for ties and for continuity.
double normal_chance(double u, double n, double m, double tie_term) {
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - tie_term / (all * (all - 1)));
  if (variance <= 0)
    return 1;
  const double distance = std::max(0.0, std::abs(u - n * m / 2) - 0.5);
  // Never 0: a chance may be small, but is no certainty.
  return std::max(std::erfc(distance / std::sqrt(2 * variance)),
                  std::numeric_limits<double>::min());
}

std::vector<double> pair_ratios(std::span<const double> before, std::span<const double> after) {
  std::vector<double> ratios;
  ratios.reserve(before.size() * after.size());
  for (const double b : before)
    for (const double a : after)
      ratios.push_back(a / b);
  std::ranges::sort(ratios);
  return ratios;
}

// The largest number of smallest values that a binomial variable stays below with at most `tail`.
std::size_t binomial_below(std::size_t count, double share, double tail) {
  const auto n = static_cast<double>(count);
  double sum = 0;
  for (std::size_t i = 0; i <= count; ++i) {
    const auto k = static_cast<double>(i);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                    k * std::log(share) + (n - k) * std::log1p(-share));
    if (sum > tail)
      return i;
  }
  return count;
}

struct Bounds {
  std::uint64_t low;
  std::uint64_t high;
};

// The order statistics around a quantile.
std::optional<Bounds> quantile_bounds(std::span<const std::uint64_t> sorted, double quantile) {
  const std::size_t below = binomial_below(sorted.size(), quantile, kTailOfOne);
  const std::size_t above = binomial_below(sorted.size(), 1 - quantile, kTailOfOne);
  if (below == 0 || above == 0)
    return std::nullopt;
  return Bounds{sorted[below - 1], sorted[sorted.size() - above]};
}

} // namespace

RankTest rank_test(std::span<const double> before, std::span<const double> after) {
  if (before.empty() || after.empty())
    return {};
  const Ranks ranks = ranks_of(before, after);
  const auto n = static_cast<double>(before.size());
  const auto m = static_cast<double>(after.size());
  const auto end = ranks.doubled.begin() + static_cast<std::ptrdiff_t>(before.size());
  const double doubled = std::accumulate(ranks.doubled.begin(), end, 0.0);
  const double u = doubled / 2 - n * (n + 1) / 2; // pairs with the smaller value in `after`
  const bool is_exact = before.size() + after.size() <= kExactValues;
  return {.chance = is_exact ? exact_chance(ranks, before.size(), doubled, n * (n + m + 1))
                             : normal_chance(u, n, m, ranks.tie_term),
          .is_exact = is_exact,
          .smaller_share = u / (n * m)};
}

double ratio_of_pairs(std::span<const double> before, std::span<const double> after) {
  return median_of(pair_ratios(before, after));
}

std::optional<Range> ratio_by_pairs(std::span<const double> before, std::span<const double> after) {
  const std::size_t values = before.size() + after.size();
  if (before.empty() || after.empty() || values < 3 || values > kExactValues)
    return std::nullopt;
  std::vector<std::uint32_t> ranks(values);
  std::iota(ranks.begin(), ranks.end(), 1U);
  const std::vector<double> shares = distribution_of_sums(ranks, before.size());
  const std::size_t least = before.size() * (before.size() + 1) / 2; // the rank sum of U = 0
  const std::vector<double> ratios = pair_ratios(before, after);
  double tail = shares[least];
  std::size_t cut = 0; // ratios beyond the range, on each side
  while (cut + 1 < (ratios.size() + 1) / 2 && tail + shares[least + cut + 1] <= kTail)
    tail += shares[least + ++cut];
  return Range{ratios[cut], ratios[ratios.size() - 1 - cut], 1 - 2 * tail};
}

std::optional<Range> ratio_of_quantiles(std::span<const std::uint64_t> before,
                                        std::span<const std::uint64_t> after, double quantile) {
  const std::optional<Bounds> from = quantile_bounds(before, quantile);
  const std::optional<Bounds> to = quantile_bounds(after, quantile);
  if (!from || !to || from->low == 0)
    return std::nullopt;
  return Range{static_cast<double>(to->low) / static_cast<double>(from->high),
               static_cast<double>(to->high) / static_cast<double>(from->low), 0.95};
}

double median_of(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

} // namespace iotrail::output
