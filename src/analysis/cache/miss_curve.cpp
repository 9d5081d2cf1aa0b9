// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/cache/miss_curve.hpp"

#include <algorithm>
#include <cmath>

namespace iotrail::analysis {

namespace {

constexpr double kStudent = 2.365; // 95 % of Student's distribution with seven degrees of freedom

double half_range(const std::vector<double>& shares) {
  const auto count = static_cast<double>(shares.size());
  double sum = 0;
  for (const double share : shares)
    sum += share;
  double squares = 0;
  for (const double share : shares)
    squares += (share - sum / count) * (share - sum / count);
  return kStudent * std::sqrt(squares / (count - 1) / count);
}

double sum_beyond(const std::vector<std::uint64_t>& counts, double pages) {
  auto sum = static_cast<double>(counts.front()); // first accesses miss in each size
  const double first = std::floor(pages) + 1;
  if (first < static_cast<double>(counts.size()))
    for (auto at = static_cast<std::size_t>(first); at < counts.size(); ++at)
      sum += static_cast<double>(counts[at]);
  return sum;
}

} // namespace

void PageCounter::access(Page page) {
  ++accesses_;
  if (!sample_.has(page))
    return;
  pages_.set(page, 0);
  while (pages_.size() > most_pages_ && sample_.threshold() > 1) {
    sample_.halve();
    PageMap kept;
    pages_.for_each([&](Page each, std::uint32_t) {
      if (sample_.has(each))
        kept.set(each, 0);
    });
    pages_ = std::move(kept);
  }
}

std::uint64_t PageCounter::pages() const {
  return static_cast<std::uint64_t>(
      std::llround(static_cast<double>(pages_.size()) / sample_.share()));
}

void LruCurve::access(Page page, bool is_read) {
  const std::uint64_t distance = distances_.access(page);
  if (distance >= all_.size()) {
    all_.resize(distance + 1);
    reads_.resize(distance + 1);
  }
  ++all_[distance];
  reads_[distance] += is_read ? 1 : 0;
}

Misses LruCurve::misses(double pages) const {
  return {sum_beyond(all_, pages), sum_beyond(reads_, pages)};
}

CacheExperiment::CacheExperiment(const Options& options) : sample_(options.sample) {
  for (const Policy policy : options.policies)
    for (const std::uint64_t pages : options.sizes) {
      const double scaled = std::round(static_cast<double>(pages) * sample_.share());
      simulations_.push_back(
          {policy, pages,
           make_simulator(policy, std::max<std::size_t>(1, static_cast<std::size_t>(scaled)))});
    }
}

void CacheExperiment::access(Page page, bool is_read) {
  ++accesses_;
  reads_ += is_read ? 1 : 0;
  if (!sample_.has(page))
    return;
  lru_.access(page, is_read);
  if (!sample_.is_all())
    parts_[PageSample::hash_of(page) % kParts].access(page, is_read);
  for (Simulation& simulation : simulations_)
    if (!simulation.cache->access(page)) {
      simulation.misses.all += 1;
      simulation.misses.reads += is_read ? 1 : 0;
    }
}

Misses CacheExperiment::lru_misses(std::uint64_t pages) const {
  const Misses sampled = lru_.misses(static_cast<double>(pages) * sample_.share());
  return {std::min(sampled.all / sample_.share(), static_cast<double>(accesses_)),
          std::min(sampled.reads / sample_.share(), static_cast<double>(reads_))};
}

Misses CacheExperiment::lru_error(std::uint64_t pages) const {
  if (sample_.is_all() || accesses_ == 0)
    return {};
  const double share = sample_.share() / kParts;
  std::vector<double> all;
  std::vector<double> reads;
  for (const LruCurve& part : parts_) {
    const Misses sampled = part.misses(static_cast<double>(pages) * share);
    all.push_back(sampled.all / share / static_cast<double>(accesses_));
    reads.push_back(sampled.reads / share /
                    static_cast<double>(std::max<std::uint64_t>(1, reads_)));
  }
  return {half_range(all), half_range(reads)};
}

std::optional<Misses> CacheExperiment::misses(Policy policy, std::uint64_t pages) const {
  for (const Simulation& simulation : simulations_)
    if (simulation.policy == policy && simulation.pages == pages)
      return Misses{
          std::min(simulation.misses.all / sample_.share(), static_cast<double>(accesses_)),
          std::min(simulation.misses.reads / sample_.share(), static_cast<double>(reads_))};
  return std::nullopt;
}

} // namespace iotrail::analysis
