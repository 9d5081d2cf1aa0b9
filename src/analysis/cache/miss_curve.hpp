// SPDX-License-Identifier: BSD-3-Clause
//
// The misses of caches of all sizes under LRU, and of some sizes under other policies, for a sequence
// of page accesses. Exact, or from a sample of the pages by their hash: SHARDS (Waldspurger and
// others, FAST 2015). A cache for a share of the pages then needs that share of the size.
//
// A sample has eight parts, which are samples themselves. Their spread gives the error.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/cache/cache_simulator.hpp"
#include "analysis/cache/stack_distance.hpp"

namespace iotrail::analysis {

// Which pages are in a sample.
class PageSample {
public:
  static constexpr std::uint32_t kAll = 1U << 24U;

  explicit PageSample(std::uint32_t threshold = kAll) : threshold_(threshold) {}

  bool has(Page page) const { return hash_of(page) < threshold_; }
  bool is_all() const { return threshold_ == kAll; }
  double share() const { return static_cast<double>(threshold_) / kAll; }
  std::uint32_t threshold() const { return threshold_; }
  void halve() { threshold_ = std::max(1U, threshold_ / 2); }
  static std::uint32_t hash_of(Page page) { return static_cast<std::uint32_t>(mixed(page) >> 40U); }

private:
  std::uint32_t threshold_;
};

// The distinct pages of a sequence, counted in bounded memory: if there are too many, those of a
// sample. So a first pass finds the sample for the second one.
class PageCounter {
public:
  explicit PageCounter(std::size_t most_pages) : most_pages_(most_pages) {}

  void access(Page page);
  const PageSample& sample() const { return sample_; }
  std::uint64_t accesses() const { return accesses_; }
  std::uint64_t pages() const; // an estimate, if the sample is not all

private:
  std::size_t most_pages_;
  PageSample sample_;
  PageMap pages_;
  std::uint64_t accesses_ = 0;
};

struct Misses {
  double all = 0;
  double reads = 0;
};

// The distances of one sequence of pages.
class LruCurve {
public:
  void access(Page page, bool is_read);
  // Of a cache of that many pages of the sequence.
  Misses misses(double pages) const;

private:
  StackDistance distances_;
  std::vector<std::uint64_t> all_{0}; // accesses by their distance; 0: the first of a page
  std::vector<std::uint64_t> reads_{0};
};

class CacheExperiment {
public:
  struct Options {
    PageSample sample{};
    std::vector<std::uint64_t> sizes{}; // in pages, for the policies other than LRU
    std::vector<Policy> policies{};
  };
  explicit CacheExperiment(const Options& options);

  void access(Page page, bool is_read);

  std::uint64_t accesses() const { return accesses_; }
  std::uint64_t reads() const { return reads_; }
  Misses lru_misses(std::uint64_t pages) const;
  // Half the range that has the share of missed accesses, or reads, with 95 % confidence; 0: exact.
  Misses lru_error(std::uint64_t pages) const;
  // Of the policy at a size of the options.
  std::optional<Misses> misses(Policy policy, std::uint64_t pages) const;

private:
  static constexpr std::size_t kParts = 8;
  struct Simulation {
    Policy policy;
    std::uint64_t pages;
    std::unique_ptr<CacheSimulator> cache;
    Misses misses{};
  };

  PageSample sample_;
  LruCurve lru_;
  std::array<LruCurve, kParts> parts_; // used if the sample is not all
  std::vector<Simulation> simulations_;
  std::uint64_t accesses_ = 0;
  std::uint64_t reads_ = 0;
};

} // namespace iotrail::analysis
