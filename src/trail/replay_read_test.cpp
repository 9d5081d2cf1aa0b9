// SPDX-License-Identifier: BSD-3-Clause
//
// Reads into the page cache: read-ahead, used bytes, late bytes.
#include "trail/replay.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "schema.hpp"
#include "test_facts.hpp"

namespace iotrail::trail {
namespace {

TEST(replay, of_a_read_ahead_that_was_split_each_part_knows_its_use) {
  TestFacts facts;
  facts.read(10, 1, 0, 100, 50);
  facts.add({.kind = FactKind::queued,
             .ts_ns = 20,
             .op_id = 1,
             .pid = 5,
             .file = kTestFile,
             .offset = 4096,
             .bytes = 16384,
             .device = 1,
             .sector = 8,
             .flags = IOT_block_read});
  facts.complete(21, 4096, 4096, 1, IOT_block_read).complete(22, 8192, 12288, 1, IOT_block_read);
  facts.read(100, 2, 4096, 16384, 5);
  for (const Link& link : facts.replay().links)
    EXPECT_EQ(link.used_bytes, link.bytes);
}

TEST(replay, reads_for_a_fault_with_its_own_operation_belong_to_no_call) {
  TestFacts facts;
  facts.read(10, 1, 0, 4096, 50);
  facts.bio(20, 0, 4096, 1, IOT_block_read);
  facts.bio(30, 8192, 4096, 7, IOT_block_read | IOT_block_hint_fault); // within the call
  const Trails trails = facts.replay();
  ASSERT_EQ(trails.links.size(), 2U);
  EXPECT_EQ(trails.links[0].cause, Cause::read);
  EXPECT_EQ(trails.links[1].cause, Cause::mapped_read);
  EXPECT_EQ(trails.links[1].op_id, 7U);
}

TEST(replay, a_read_ahead_is_late_for_a_call_that_began_before_its_arrival) {
  TestFacts facts;
  facts.read(10, 1, 0, 100, 30);
  facts.bio(20, 0, 12288, 1, IOT_block_read); // arrives at 26
  facts.read(24, 2, 4096, 1000, 5);           // begins before that, and gets it
  facts.read(25, 3, 5096, 500, 5).read(25, 4, 5596, 100, 6);
  facts.read(26, 5, 5696, 100, 5); // it has arrived
  facts.read(23, 6, 5796, 100, 1); // ends before: it cannot have waited
  const Trails trails = facts.replay();
  const auto ahead = std::ranges::find(trails.links, Cause::read_ahead, &Link::cause);
  ASSERT_NE(ahead, trails.links.end());
  EXPECT_EQ(ahead->used_bytes, 1800U);
  EXPECT_EQ(ahead->late_bytes, 1600U);
  EXPECT_EQ(ahead->late_ns, 2U + 1U + 1U);
  std::vector<std::string> late;
  for (const LateRead& read : trails.late_reads)
    late.push_back(
        fmt::format("{} by {}: {} B, {} ns", read.op_id, read.by_op, read.bytes, read.late_ns));
  EXPECT_EQ(late, (Lines{"2 by 1: 1000 B, 2 ns", "3 by 1: 500 B, 1 ns", "4 by 1: 100 B, 1 ns"}));
}

TEST(replay, the_time_that_a_late_read_waited_for_two_bios_counts_once) {
  TestFacts facts;
  facts.read(10, 1, 0, 100, 30);
  facts.bio(20, 4096, 4096, 1, IOT_block_read).bio(22, 8192, 4096, 1, IOT_block_read); // 26 and 28
  facts.read(21, 2, 4096, 8192, 20);
  const Trails trails = facts.replay();
  ASSERT_EQ(trails.late_reads.size(), 1U);
  EXPECT_EQ(trails.late_reads[0].bytes, 8192U);
  EXPECT_EQ(trails.late_reads[0].late_ns, 28U - 21U);
  EXPECT_EQ(trails.links[0].late_ns + trails.links[1].late_ns, trails.late_reads[0].late_ns);
}

TEST(replay, pages_that_are_read_ahead_are_there_when_all_of_their_bio_is) {
  TestFacts facts;
  facts.read(10, 1, 0, 4096, 5);
  facts.bio(11, 4096, 8192, 1, IOT_block_read); // its request counts for the first half
  facts.facts.back().bytes = 4096;
  facts.complete(30, 8192, 4096, 1, IOT_block_read); // arrives at 35
  facts.read(20, 2, 4096, 100, 17);                  // begins after the arrival of the first half
  facts.read(36, 3, 4196, 100, 5);                   // all has arrived
  facts.read(21, 4, 8192, 100, 13);                  // ends before: it cannot have waited
  const Trails trails = facts.replay();
  ASSERT_EQ(trails.late_reads.size(), 1U);
  EXPECT_EQ(trails.late_reads[0].op_id, 2U);
  EXPECT_EQ(trails.late_reads[0].bytes, 100U);
  EXPECT_EQ(trails.late_reads[0].late_ns, 35U - 20U);
}

TEST(replay, a_read_waits_for_its_own_bytes_and_the_rest_is_read_ahead) {
  TestFacts facts;
  facts.read(10, 1, 4096, 100, 50);
  facts.bio(20, 0, 16384, 1, IOT_block_read);
  facts.read(100, 2, 8192, 1000, 5);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), (Lines{"read_ahead 1:4096 exact", "read 1:100 exact",
                                     "rounding 1:3996 exact", "read_ahead 1:8192 exact"}));
  EXPECT_EQ(trails.links[3].used_bytes, 1000U);
}

TEST(replay, a_read_beyond_the_end_of_the_file_gets_the_bytes_before_the_end) {
  TestFacts facts;
  facts.read(10, 1, 50, 4096, 50).bio(20, 0, 4096, 1, IOT_block_read);
  facts.facts[0].result = 10;
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"rounding 1:50 exact", "read 1:10 exact", "rounding 1:4036 exact"}));
}

TEST(replay, a_delayed_read_belongs_to_the_task_that_reads_the_file_meanwhile) {
  constexpr std::uint64_t kKernelThread = kTestPid + 1;
  TestFacts facts;
  facts.read(10, 1, 0, 4096, 50).read(12, 2, 8192, 4096, 50);
  facts.bio(20, 8192, 8192, 0, IOT_block_read).bio(30, 40960, 4096, 0, IOT_block_read);
  facts.bio(90, 0, 4096, 0, IOT_block_read); // no call reads it afterwards
  for (Fact& fact : facts.facts)
    if (fact.kind == FactKind::queued)
      fact.pid = kKernelThread;
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), (Lines{"outside 0:4096 exact", "read 2:4096 inferred",
                                     "read_ahead 2:4096 inferred", "read_ahead 2:4096 inferred"}));
  EXPECT_EQ(std::ranges::count(trails.links, kTestPid, &Link::pid), 3);
}

TEST(replay, a_write_asks_for_no_bytes_of_the_page_that_it_has_read) {
  TestFacts facts;
  facts.write(10, 1, 4146, 100, 50).bio(20, 4096, 4096, 1, IOT_block_read);
  EXPECT_EQ(lines_of(facts.replay()), (Lines{"rounding 1:50 exact", "rounding 1:4046 exact"}));
}

TEST(replay, a_truncation_asks_for_no_bytes_of_the_page_that_it_cuts) {
  TestFacts facts;
  facts.add({.kind = FactKind::truncated,
             .ts_ns = 10,
             .duration_ns = 50,
             .op_id = 1,
             .file = kTestFile,
             .offset = 4196});
  facts.bio(20, 4096, 4096, 1, IOT_block_read);
  EXPECT_EQ(lines_of(facts.replay()), (Lines{"rounding 1:4096 exact"}));
}

} // namespace
} // namespace iotrail::trail
