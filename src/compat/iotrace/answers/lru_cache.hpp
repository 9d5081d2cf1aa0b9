// SPDX-License-Identifier: BSD-3-Clause
//
// The extension LRU: caches of 5, 10, 15, 20, 50 and 100 % of the workset, in blocks of 4 KiB. An I/O hits if each of its
// blocks does. Flushes and discards are no accesses.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/cache/stack_distance.hpp"
#include "analysis/engine/engine.hpp"
#include "base/result.hpp"

namespace iotrail::compat::iotrace {

inline constexpr std::array<unsigned, 6> kLruPercents = {5, 10, 15, 20, 50, 100};
inline constexpr const char* kExtensionTag =
    "iotrace.extension"; // of a trace that has the extension

struct LruAnswer {
  std::array<bool, kLruPercents.size()> is_hit{};
  std::array<double, kLruPercents.size()> hit_ratio{}; // of all I/O so far
};

class LruCaches {
public:
  // Reads the trace for its workset. Fails if it is too large to be simulated.
  static Result<LruCaches> for_trace(analysis::Engine& engine);

  LruAnswer access(std::uint64_t device, std::uint64_t sector, std::uint64_t sectors);

  std::uint64_t workset_blocks() const { return workset_blocks_; }
  std::uint64_t size_blocks(std::size_t cache) const { return sizes_[cache]; }
  std::uint64_t ios() const { return ios_; }
  std::uint64_t hits(std::size_t cache) const { return hits_[cache]; }

private:
  explicit LruCaches(std::uint64_t workset_blocks);

  std::uint64_t workset_blocks_;
  std::array<std::uint64_t, kLruPercents.size()> sizes_{};
  std::array<std::uint64_t, kLruPercents.size()> hits_{};
  std::uint64_t ios_ = 0;
  std::vector<std::uint64_t> devices_;
  analysis::StackDistance distances_;
};

// {"extension":[{name,cacheSize,hits,count,hitRatio}],"hitRatio":[{cacheSize,hitPercent}],"recommendedCacheSize"}. Sizes are
// in MiB. The recommended size is the smallest with at least 95 % of the hits of the largest.
Result<nlohmann::ordered_json> lru_summary(analysis::Engine& engine);

nlohmann::ordered_json lru_tags(const LruAnswer& answer);

} // namespace iotrail::compat::iotrace
