// SPDX-License-Identifier: BSD-3-Clause
//
// Facts for tests of the engine: one process, one file, and a device with the same positions as the
// file.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/bytes.hpp"
#include "schema.hpp"
#include "trail/replay.hpp"

namespace iotrail::trail {

inline constexpr std::uint32_t kTestFile = 3;
inline constexpr std::uint32_t kTestPid = 5;

struct TestFacts {
  std::vector<Fact> facts;
  LossTimes losses;
  bool has_cache_events = false;
  bool has_evictions = false;
  std::unordered_map<std::uint32_t, std::uint32_t> disk_caches;
  std::unordered_set<std::uint32_t> nodes;
  std::unordered_set<std::uint32_t> of_metadata;
  std::unordered_set<std::uint32_t> kernel_threads;
  std::unordered_map<std::uint32_t, std::uint32_t> file_systems;
  std::unordered_set<std::uint32_t> on_disks;

  TestFacts& add(const Fact& fact) {
    facts.push_back(fact);
    return *this;
  }

  // A call that ends at once, unless the test sets a duration.
  TestFacts& write(std::uint64_t ts_ns, std::uint64_t op, std::uint64_t offset, std::uint64_t bytes,
                   std::uint64_t duration_ns = 1) {
    return add({.kind = FactKind::write,
                .ts_ns = ts_ns,
                .duration_ns = duration_ns,
                .op_id = op,
                .pid = kTestPid,
                .file = kTestFile,
                .offset = offset,
                .bytes = bytes,
                .result = bytes});
  }

  TestFacts& read(std::uint64_t ts_ns, std::uint64_t op, std::uint64_t offset, std::uint64_t bytes,
                  std::uint64_t duration_ns) {
    write(ts_ns, op, offset, bytes, duration_ns);
    facts.back().kind = FactKind::read;
    return *this;
  }

  TestFacts& dirty(std::uint64_t ts_ns, std::uint64_t op, std::uint64_t offset, std::uint64_t bytes,
                   std::uint32_t pid = kTestPid) {
    return add({.kind = FactKind::dirtied,
                .ts_ns = ts_ns,
                .op_id = op,
                .pid = pid,
                .file = kTestFile,
                .offset = offset,
                .bytes = bytes});
  }

  // Pages come into the cache.
  TestFacts& page(std::uint64_t ts_ns, std::uint64_t op, std::uint64_t offset,
                  std::uint64_t bytes) {
    dirty(ts_ns, op, offset, bytes);
    facts.back().kind = FactKind::added;
    return *this;
  }

  TestFacts& sync(std::uint64_t ts_ns, std::uint64_t op, std::uint32_t file = kTestFile,
                  bool is_of_all = false, std::uint64_t duration_ns = 5) {
    return add({.kind = FactKind::synced,
                .ts_ns = ts_ns,
                .duration_ns = duration_ns,
                .op_id = op,
                .file = file,
                .bytes = is_of_all ? 1U : 0U});
  }

  // The file has `length` bytes after that.
  TestFacts& truncate(std::uint64_t ts_ns, std::uint64_t op, std::uint64_t length,
                      std::uint64_t duration_ns = 0) {
    return add({.kind = FactKind::truncated,
                .ts_ns = ts_ns,
                .duration_ns = duration_ns,
                .op_id = op,
                .file = kTestFile,
                .offset = length});
  }

  TestFacts& complete(std::uint64_t ts_ns, std::uint64_t place, std::uint64_t bytes,
                      std::uint64_t op, std::uint64_t flags) {
    return add({.kind = FactKind::completed,
                .ts_ns = ts_ns,
                .duration_ns = 5,
                .op_id = op,
                .file = kTestFile,
                .bytes = bytes,
                .device = 1,
                .sector = place / kSectorBytes,
                .flags = flags});
  }

  // A bio, and its request.
  TestFacts& bio(std::uint64_t ts_ns, std::uint64_t offset, std::uint64_t bytes, std::uint64_t op,
                 std::uint64_t flags) {
    const std::uint64_t place = offset == kNoOffset ? 0 : offset;
    add({.kind = FactKind::queued,
         .ts_ns = ts_ns,
         .op_id = op,
         .pid = kTestPid,
         .file = kTestFile,
         .offset = offset,
         .bytes = bytes,
         .device = 1,
         .sector = place / kSectorBytes,
         .flags = flags});
    return complete(ts_ns + 1, place, bytes, op, flags);
  }

  TestFacts& write_back(std::uint64_t ts_ns, std::uint64_t offset, std::uint64_t bytes,
                        std::uint64_t op = 0) {
    return bio(ts_ns, offset, bytes, op, IOT_block_write);
  }

  Trails replay() {
    std::ranges::stable_sort(facts, {}, &Fact::ts_ns);
    Replay replay;
    replay.losses = losses;
    replay.has_cache_events = has_cache_events;
    replay.has_evictions = has_evictions;
    replay.disk_caches = disk_caches;
    replay.nodes = nodes;
    replay.of_metadata = of_metadata;
    replay.kernel_threads = kernel_threads;
    replay.file_systems = file_systems;
    replay.on_disks = on_disks;
    replay.has_bios = true;
    for (const Fact& fact : facts) {
      if (fact.kind == FactKind::completed)
        replay.disks.insert(static_cast<std::uint32_t>(fact.device));
      if (fact.kind != FactKind::queued)
        continue;
      replay.written_back.insert(static_cast<std::uint32_t>(fact.file));
      if (fact.offset == kNoOffset && fact.io_class != IOT_io_class_compressed)
        replay.direct.insert(fact.op_id);
    }
    replay.traced = {kTestPid};
    for (const Fact& fact : facts)
      replay.step(fact);
    return replay.finish();
  }
};

using Lines = std::vector<std::string>;

// "write_back 7:100 exact": cause, operation, bytes, confidence of completed links, sorted by file
// position.
inline Lines lines_of(const Trails& trails) {
  Lines lines;
  std::vector<Link> links = trails.links;
  std::ranges::stable_sort(links, {}, &Link::offset);
  for (const Link& link : links)
    if (link.completed_ns)
      lines.push_back(fmt::format("{} {}:{} {}", cause_name(link.cause), link.op_id, link.bytes,
                                  confidence_name(link.confidence)));
  return lines;
}

} // namespace iotrail::trail
