// SPDX-License-Identifier: BSD-3-Clause
//
// What became of bytes that no bio carried as they were written: inside metadata, behind the end of
// the file, copied in the kernel.
#include <gtest/gtest.h>

#include "trail/test_facts.hpp"

namespace iotrail::trail {
namespace {

constexpr std::uint32_t kFileSystem = 9;

TestFacts facts_on_a_disk() {
  TestFacts facts;
  facts.has_cache_events = true;
  facts.file_systems = {{kTestFile, kFileSystem}, {kTestFile + 1, kFileSystem}};
  facts.on_disks = {kFileSystem};
  return facts;
}

Fate fate_of(TestFacts& facts) {
  const Trails trails = facts.replay();
  EXPECT_EQ(trails.fates.size(), 1U);
  return trails.fates.empty() ? Fate{} : trails.fates[0];
}

TEST(replay_fates, a_small_file_without_a_bio_is_inside_metadata_after_a_sync) {
  TestFacts facts = facts_on_a_disk();
  facts.write(1, 1, 0, 100).dirty(1, 1, 0, 4096).sync(10, 2);
  const Fate fate = fate_of(facts);
  EXPECT_EQ(fate.inlined, 100U);
  EXPECT_EQ(fate.pending, 0U);
}

TEST(replay_fates, a_sync_of_all_covers_its_file_system_alone) {
  TestFacts facts = facts_on_a_disk();
  facts.write(1, 1, 0, 100).dirty(1, 1, 0, 4096).sync(10, 2, kTestFile + 1, true);
  EXPECT_EQ(fate_of(facts).inlined, 100U);
  facts.file_systems[kTestFile + 1] = kFileSystem + 1;
  EXPECT_EQ(fate_of(facts).pending, 100U);
  facts.sync(20, 3, 0, true);
  EXPECT_EQ(fate_of(facts).inlined, 100U);
}

TEST(replay_fates, what_is_stored_during_a_sync_stays_in_the_cache) {
  TestFacts facts = facts_on_a_disk();
  facts.write(12, 1, 0, 100).dirty(12, 1, 0, 4096).sync(10, 2);
  EXPECT_EQ(fate_of(facts).pending, 100U);
}

TEST(replay_fates, a_file_beyond_its_first_page_is_not_inside_metadata) {
  TestFacts facts = facts_on_a_disk();
  facts.write(1, 1, 0, 5000).dirty(1, 1, 0, 8192).sync(10, 2);
  EXPECT_EQ(fate_of(facts).pending, 5000U);
}

TEST(replay_fates, files_without_a_disk_stay_in_the_cache) {
  TestFacts facts = facts_on_a_disk();
  facts.on_disks.clear();
  facts.write(1, 1, 0, 100).dirty(1, 1, 0, 4096).sync(10, 2);
  EXPECT_EQ(fate_of(facts).pending, 100U);
}

TEST(replay_fates, a_bio_has_zeroes_behind_the_end_of_its_file) {
  TestFacts facts;
  facts.write(1, 1, 0, 8192).write_back(20, 0, 8192);
  facts.facts[1].file_bytes = 5000;
  EXPECT_EQ(lines_of(facts.replay()), (Lines{"write_back 1:5000 exact", "along 1:3192 exact"}));
  const Fate fate = fate_of(facts);
  EXPECT_EQ(fate.to_device, 5000U);
  EXPECT_EQ(fate.dropped, 3192U);
}

TEST(replay_fates, bytes_of_a_request_that_failed_did_not_reach_the_device) {
  TestFacts facts;
  facts.write(1, 1, 0, 8192).write_back(20, 0, 4096).write_back(30, 4096, 4096);
  facts.facts.back().result = static_cast<std::uint64_t>(-5);
  const Fate fate = fate_of(facts);
  EXPECT_EQ(fate.written, 8192U);
  EXPECT_EQ(fate.to_device, 4096U);
  EXPECT_EQ(fate.failed, 4096U);
}

TEST(replay_fates, a_copy_with_a_position_is_known_by_the_byte) {
  TestFacts facts;
  facts.has_cache_events = true;
  facts.write(1, 1, 100, 5000, 10).dirty(2, 1, 0, 4096).dirty(3, 1, 4096, 4096);
  facts.facts[0].kind = FactKind::copy;
  facts.write_back(20, 0, 8192);
  EXPECT_EQ(lines_of(facts.replay()), (Lines{"rounding 1:100 exact", "write_back 1:3996 exact",
                                             "write_back 1:1004 exact", "rounding 1:3092 exact"}));
}

TEST(replay_fates, a_copy_into_a_dirty_page_belongs_to_it) {
  TestFacts facts;
  facts.has_cache_events = true;
  facts.write(1, 1, 0, 100).dirty(1, 1, 0, 4096).write(5, 2, 100, 50);
  facts.facts.back().kind = FactKind::copy;
  facts.write_back(20, 0, 4096);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"write_back 1:100 exact", "write_back 2:50 exact", "rounding 2:3946 exact"}));
}

TEST(replay_fates, a_copy_that_shares_its_bytes_on_the_device_stores_none) {
  TestFacts facts;
  facts.has_cache_events = true;
  facts.write(1, 1, 0, 8192);
  facts.facts.back().kind = FactKind::copy;
  EXPECT_TRUE(facts.replay().fates.empty());
}

} // namespace
} // namespace iotrail::trail
