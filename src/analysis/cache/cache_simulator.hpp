// SPDX-License-Identifier: BSD-3-Clause
//
// A cache of a fixed number of pages under a policy of replacement, access by access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/cache/page_map.hpp"

namespace iotrail::analysis {

enum class Policy : std::uint8_t { lru, fifo, clock, arc, s3fifo, lirs };
std::optional<Policy> policy_of(std::string_view name);
std::string_view policy_name(Policy policy);
std::string policy_names(); // "lru, fifo, ..."

class CacheSimulator {
public:
  CacheSimulator() = default;
  CacheSimulator(const CacheSimulator&) = delete;
  CacheSimulator& operator=(const CacheSimulator&) = delete;
  virtual ~CacheSimulator() = default;

  // Whether the page was in the cache; it is afterwards.
  virtual bool access(Page page) = 0;
};

// `pages` is at least 1 and at most 2^30. Memory grows with the pages that are accessed, up to that
// size (ARC, S3-FIFO and LIRS also remember as many pages that have left).
std::unique_ptr<CacheSimulator> make_simulator(Policy policy, std::size_t pages);

} // namespace iotrail::analysis
