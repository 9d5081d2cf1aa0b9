// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/answers/lru_cache.hpp"

#include <algorithm>

#include "analysis/cache/page_map.hpp"
#include "compat/iotrace/answers/cells.hpp"

namespace iotrail::compat::iotrace {
namespace {

constexpr std::uint64_t kSectorsPerBlock = 8;
constexpr std::uint64_t kMostBlocks = 4U << 20U;     // of the workset: 16 GiB
constexpr std::uint64_t kMostBlocksOfIo = 1U << 20U; // 4 GiB
constexpr unsigned kBlockBits = 52;                  // of the number of a block on its device
constexpr std::size_t kMostSimulatedDevices = 1U << 11U;
constexpr double kBlocksPerMiB = 256;
constexpr double kEnough = 0.95;

constexpr const char* kSql =
    "SELECT device, sector, (CAST(bytes AS UBIGINT) + 511) // 512 FROM device_ios WHERE bytes > 0 "
    "AND operation IN ('read', 'write') ORDER BY arrived_ns, io";

struct Blocks {
  analysis::Page first = analysis::kNoPage; // kNoPage: beyond what a device can have
  std::uint64_t count = 0;
};

Blocks blocks_of(std::vector<std::uint64_t>& devices, std::uint64_t device, std::uint64_t sector,
                 std::uint64_t sectors) {
  auto found = std::ranges::find(devices, device);
  if (found == devices.end() && devices.size() < kMostSimulatedDevices)
    found = devices.insert(devices.end(), device);
  const std::uint64_t first = sector / kSectorsPerBlock;
  const std::uint64_t count =
      (sector % kSectorsPerBlock + sectors + kSectorsPerBlock - 1) / kSectorsPerBlock;
  if (found == devices.end() || count > kMostBlocksOfIo || (first + count) >> kBlockBits != 0)
    return {};
  const auto number = static_cast<std::uint64_t>(found - devices.begin());
  return {number << kBlockBits | first, count};
}

} // namespace

LruCaches::LruCaches(std::uint64_t workset_blocks) : workset_blocks_(workset_blocks) {
  for (std::size_t i = 0; i < kLruPercents.size(); ++i)
    sizes_[i] = (workset_blocks * kLruPercents[i] + 99) / 100;
}

Result<LruCaches> LruCaches::for_trace(analysis::Engine& engine) {
  analysis::PageMap seen;
  std::vector<std::uint64_t> devices;
  const auto read = for_each_row(engine, kSql, [&](Row row) {
    const Blocks blocks = blocks_of(devices, natural(row[0]), natural(row[1]), natural(row[2]));
    for (std::uint64_t i = 0; i < blocks.count && seen.size() <= kMostBlocks; ++i)
      seen.set(blocks.first + i, 0);
    return seen.size() <= kMostBlocks;
  });
  if (!read)
    return std::unexpected(read.error());
  if (seen.size() > kMostBlocks)
    return fail("cannot simulate the LRU caches", "the workset is larger than 16 GiB",
                "`iotrail cache TRACE --device all` simulates a sample of it.");
  return LruCaches(seen.size());
}

LruAnswer LruCaches::access(std::uint64_t device, std::uint64_t sector, std::uint64_t sectors) {
  const Blocks blocks = blocks_of(devices_, device, sector, sectors);
  bool is_known = blocks.count != 0;
  std::uint64_t farthest = 0;
  for (std::uint64_t i = 0; i < blocks.count; ++i) {
    const std::uint64_t distance = distances_.access(blocks.first + i);
    is_known = is_known && distance != 0;
    farthest = std::max(farthest, distance);
  }
  ++ios_;
  LruAnswer answer;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    answer.is_hit[i] = is_known && farthest <= sizes_[i];
    hits_[i] += answer.is_hit[i] ? 1 : 0;
    answer.hit_ratio[i] = static_cast<double>(hits_[i]) / static_cast<double>(ios_);
  }
  return answer;
}

nlohmann::ordered_json lru_tags(const LruAnswer& answer) {
  auto tags = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kLruPercents.size(); ++i)
    tags[fmt::format("LRU {}%", kLruPercents[i])] = {{"hit", answer.is_hit[i]},
                                                     {"hitRatio", answer.hit_ratio[i]}};
  return tags;
}

Result<nlohmann::ordered_json> lru_summary(analysis::Engine& engine) {
  auto caches = LruCaches::for_trace(engine);
  if (!caches)
    return std::unexpected(caches.error());
  const auto read = for_each_row(engine, kSql, [&](Row row) {
    caches->access(natural(row[0]), natural(row[1]), natural(row[2]));
    return true;
  });
  if (!read)
    return std::unexpected(read.error());
  auto extension = nlohmann::ordered_json::array();
  auto ratios = nlohmann::ordered_json::array();
  const auto size_mib = [&](std::size_t i) {
    return static_cast<double>(caches->size_blocks(i)) / kBlocksPerMiB;
  };
  std::size_t recommended = kLruPercents.size() - 1;
  const auto most = static_cast<double>(caches->hits(recommended));
  for (std::size_t i = kLruPercents.size(); i-- > 0;)
    if (static_cast<double>(caches->hits(i)) >= kEnough * most)
      recommended = i;
  for (std::size_t i = 0; i < kLruPercents.size(); ++i) {
    const double ratio = caches->ios() == 0 ? 0
                                            : static_cast<double>(caches->hits(i)) /
                                                  static_cast<double>(caches->ios());
    extension.push_back({{"name", fmt::format("LRU {}%", kLruPercents[i])},
                         {"cacheSize", size_mib(i)},
                         {"count", fmt::to_string(caches->ios())},
                         {"hits", fmt::to_string(caches->hits(i))},
                         {"hitRatio", ratio}});
    ratios.push_back({{"cacheSize", size_mib(i)}, {"hitPercent", 100 * ratio}});
  }
  return nlohmann::ordered_json{{"extension", std::move(extension)},
                                {"hitRatio", std::move(ratios)},
                                {"recommendedCacheSize", size_mib(recommended)}};
}

} // namespace iotrail::compat::iotrace
