// SPDX-License-Identifier: BSD-3-Clause
// Disks that pass their bios to others below: device mapper, md.
#include "trail/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schema.hpp"
#include "test_facts.hpp"

namespace iotrail::trail {
namespace {

constexpr std::uint64_t kMapped = 7; // the number of the device above

TEST(replay_mapped, the_disk_below_a_mapped_one_has_the_bytes_of_that) {
  constexpr std::uint64_t kShift = 2048; // sectors
  TestFacts facts;
  facts.write(10, 1, 0, 4096).write(12, 2, 4096, 4096);
  facts.write_back(30, 0, 8192);
  facts.facts.pop_back(); // a mapped device completes nothing
  Fact bio = facts.facts.back();
  facts.facts.back().device = kMapped;
  facts.write(31, 3, 0, 4096); // dirty again, and not what the disk below gets
  bio.sector = kShift;
  bio.ts_ns = 40;
  facts.add(bio).complete(41, kShift * kSectorBytes, 8192, 0, IOT_block_write);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), (Lines{"write_back 1:4096 exact", "write_back 2:4096 exact"}));
  for (const Link& link : trails.links) {
    EXPECT_EQ(link.file, kTestFile);
    EXPECT_EQ(link.is_repeat, link.device != kMapped);
  }
  EXPECT_EQ(trails.fates.at(0).to_device, 8192U);
  EXPECT_EQ(trails.fates.at(0).pending, 4096U);
}

// The bio of a mapped disk, which completes nothing, and the bio of the disk below, with the upper
// disk in `above`.
Trails replay_handed_on(std::uint64_t offset, std::uint64_t flags) {
  TestFacts facts;
  facts.write(10, 1, 0, 4096, 100);
  if (flags == IOT_block_read)
    facts.facts.back().kind = FactKind::read;
  facts.bio(20, offset, 4096, 1, flags);
  facts.facts.pop_back();
  facts.facts.back().device = kMapped;
  facts.bio(30, offset, 4096, 1, flags);
  facts.facts[facts.facts.size() - 2].above = kMapped;
  return facts.replay();
}

TEST(replay_mapped, a_bio_passed_on_below_counts_once) {
  for (const auto& [offset, flags, cause] :
       {std::tuple{kNoOffset, std::uint64_t{IOT_block_write}, Cause::direct},
        std::tuple{std::uint64_t{0}, std::uint64_t{IOT_block_read}, Cause::read}}) {
    const Trails trails = replay_handed_on(offset, flags);
    ASSERT_EQ(trails.links.size(), 2U);
    EXPECT_FALSE(trails.links[0].is_repeat);
    EXPECT_TRUE(trails.links[1].is_repeat);
    EXPECT_EQ(trails.links[0].completed_ns, 0U);
    for (const Link& link : trails.links) {
      EXPECT_EQ(link.cause, cause);
      EXPECT_EQ(link.op_id, 1U);
      EXPECT_EQ(link.confidence, Confidence::exact);
    }
  }
}

TEST(replay_mapped, a_read_passed_on_late_has_the_owner_of_the_one_above) {
  TestFacts facts;
  facts.read(10, 1, 0, 4096, 15); // its read-ahead reaches the disk below after its end
  facts.bio(20, 0, 8192, 1, IOT_block_read);
  facts.facts.pop_back();
  facts.facts.back().device = kMapped;
  facts.bio(30, 0, 8192, 1, IOT_block_read);
  facts.facts[facts.facts.size() - 2].above = kMapped;
  EXPECT_EQ(lines_of(facts.replay()), (Lines{"read 1:4096 exact", "read_ahead 1:4096 exact"}));
}

TEST(replay_mapped, a_bio_that_fails_without_a_request_has_its_error) {
  TestFacts facts;
  facts.write(10, 1, 0, 8192).write(12, 2, 8192, 4096);
  for (const std::uint64_t ts_ns : {20U, 40U}) { // the first one succeeded
    facts.write_back(ts_ns, 0, 12288);
    facts.facts.pop_back();
    facts.facts.back().device = kMapped;
    facts.write(30, 3, 0, 12288);
  }
  Fact failed = *std::ranges::find(facts.facts, 40U, &Fact::ts_ns);
  failed.kind = FactKind::failed;
  failed.ts_ns = 50;
  failed.sector += 4096 / kSectorBytes; // the front part continued by itself
  failed.bytes -= 4096;
  failed.result = static_cast<std::uint64_t>(-5);
  const Trails trails = facts.add(failed).replay();
  ASSERT_GE(trails.links.size(), 3U);
  for (const Link& link : trails.links) {
    EXPECT_EQ(link.error, link.queued_ns == 40 ? -5 : 0);
    EXPECT_EQ(link.completed_ns, 0U);
  }
}

TEST(replay_mapped, direct_writes_of_shared_memory_are_known_below_a_mapped_disk) {
  constexpr std::uint32_t kMemory = 77;
  TestFacts facts;
  facts.write(10, 1, 0, 4096, 100);
  facts.bio(20, kNoOffset, 4096, 1, IOT_block_write); // on the mapped disk, as the kernel knows it
  facts.facts.pop_back();
  facts.facts.back().device = kMapped;
  facts.bio(30, 0, 4096, 1, IOT_block_write); // the one below: pages of the memory
  facts.facts[facts.facts.size() - 2].file = kMemory;
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), Lines{"direct 1:4096 exact"});
  EXPECT_EQ(trails.links.back().file, kTestFile);
  EXPECT_EQ(trails.links.back().offset, kNoOffset);
}

} // namespace
} // namespace iotrail::trail
