// SPDX-License-Identifier: BSD-3-Clause
#include "trail/replay.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "schema.hpp"
#include "test_facts.hpp"

namespace iotrail::trail {
namespace {

TEST(replay, bytes_written_back_belong_to_their_last_writer) {
  TestFacts facts;
  facts.write(10, 1, 0, 8192).write(20, 2, 4096, 4096).write_back(30, 0, 8192);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"write_back 1:4096 exact", "write_back 2:4096 exact"}));
}

TEST(replay, appends_share_a_page_by_their_bytes_and_the_rest_goes_along) {
  TestFacts facts;
  facts.write(10, 1, 0, 300).write(20, 2, 300, 500).write_back(30, 0, 4096);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"write_back 1:300 exact", "write_back 2:500 exact", "rounding 2:3296 exact"}));
}

TEST(replay, pages_without_a_writer_are_a_remainder) {
  TestFacts facts;
  facts.write(10, 1, 8000, 1000).write_back(30, 0, 16384);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"dirty_before 0:4096 exact", "rounding 1:3904 exact", "write_back 1:1000 exact",
                   "rounding 1:3288 exact", "dirty_before 0:4096 exact"}));
}

TEST(replay, bytes_overwritten_before_their_write_back_are_absorbed) {
  TestFacts facts;
  facts.write(10, 1, 0, 4096).write(20, 2, 0, 4096).write(25, 3, 0, 100);
  const Trails trails = facts.replay();
  EXPECT_EQ(trails.fates[0].absorbed, 4196U);
  EXPECT_EQ(trails.fates[0].pending, 4096U);
  EXPECT_TRUE(trails.links.empty());
}

TEST(replay, a_write_that_queues_its_own_bio_has_stored_its_bytes) {
  TestFacts facts; // O_SYNC
  facts.write(10, 1, 0, 4096, 50);
  facts.write_back(30, 0, 4096, 1);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), Lines{"write_back 1:4096 exact"});
  EXPECT_EQ(trails.fates[0].pending, 0U);
}

TEST(replay, a_write_that_stores_after_the_bio_says_so_by_its_clean_page) {
  TestFacts facts;
  facts.has_cache_events = true;
  facts.write(1, 1, 0, 4096).dirty(1, 1, 0, 4096);
  facts.write(10, 2, 0, 4096, 50);
  facts.write_back(30, 0, 4096).dirty(40, 2, 0, 4096).write_back(100, 0, 4096);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"write_back 1:4096 shared", "write_back 2:4096 exact"}));
}

TEST(replay, clean_pages_show_that_a_write_had_its_range_written_back_first) {
  TestFacts facts; // btrfs
  facts.has_cache_events = true;
  facts.write(1, 1, 0, 8192).dirty(1, 1, 0, 8192);
  facts.write(10, 2, 0, 8192, 50);
  facts.write_back(30, 0, 8192, 2).dirty(40, 2, 0, 4096).dirty(41, 2, 4096, 4096);
  facts.write_back(100, 0, 8192);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), (Lines{"write_back 1:8192 exact", "write_back 2:4096 exact",
                                     "write_back 2:4096 exact"}));
  EXPECT_EQ(trails.fates[0].written, 2 * 8192U);
  EXPECT_EQ(trails.fates[0].to_device, 2 * 8192U);
  EXPECT_EQ(trails.fates[0].absorbed, 0U);
}

TEST(replay, bytes_of_a_call_count_even_if_its_bio_may_have_carried_others) {
  TestFacts facts;
  facts.has_cache_events = true;
  facts.write(1, 1, 0, 4096).dirty(1, 1, 0, 4096);
  facts.write(10, 2, 0, 4096, 50).write_back(30, 0, 4096);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), (Lines{"write_back 1:4096 shared"}));
  EXPECT_EQ(trails.fates[0].written, 2 * 4096U);
  EXPECT_EQ(trails.fates[0].to_device, 4096U);
  EXPECT_EQ(trails.fates[0].absorbed, 4096U);
}

TEST(replay, an_asynchronous_append_at_an_unknown_position_wrote_the_pages_that_become_dirty) {
  TestFacts facts;
  facts.write(10, 1, kNoOffset, 4096, 50).dirty(20, 9, 8192, 4096).write_back(100, 8192, 4096);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), Lines{"write_back 1:4096 inferred"});
  EXPECT_EQ(trails.fates[0].mapped, 0U);
}

TEST(replay, pages_dirtied_outside_of_calls_were_stored_through_a_mapping) {
  TestFacts facts;
  facts.dirty(10, 0, 4096, 4096).write_back(30, 4096, 4096);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), Lines{"mapped 0:4096 exact"});
  EXPECT_EQ(trails.links[0].pid, 5U);
}

TEST(replay, direct_writes_leave_nothing_dirty) {
  TestFacts facts;
  facts.write(10, 1, 0, 4096, 50);
  facts.bio(20, kNoOffset, 4096, 1, IOT_block_write);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), Lines{"direct 1:4096 exact"});
  EXPECT_TRUE(trails.fates.empty());
}

// Like an io_uring operation with a suppressed completion.
TestFacts& silent_write(TestFacts& facts, std::uint64_t ts_ns, std::uint64_t op) {
  facts.write(ts_ns, op, 0, 4096, 0);
  facts.facts.back().result = static_cast<std::uint64_t>(std::int64_t{IOT_UNFINISHED});
  return facts;
}

TEST(replay, a_direct_write_without_an_end_leaves_no_doubt) {
  TestFacts facts;
  facts.write(1, 1, 8192, 4096);
  silent_write(facts, 10, 2).bio(20, kNoOffset, 4096, 2, IOT_block_write);
  facts.write_back(30, 8192, 4096);
  EXPECT_EQ(lines_of(facts.replay()), (Lines{"write_back 1:4096 exact", "direct 2:4096 exact"}));
}

TEST(replay, a_write_without_an_end_stores_the_pages_that_it_dirties) {
  TestFacts facts;
  silent_write(facts, 10, 1).dirty(20, 1, 0, 4096).write_back(30, 0, 4096);
  EXPECT_EQ(lines_of(facts.replay()), Lines{"write_back 1:4096 inferred"});
}

TEST(replay, a_write_without_an_end_leaves_other_files_alone) {
  constexpr std::uint64_t kOther = kTestFile + 1;
  TestFacts facts;
  facts.write(1, 1, 0, 4096);
  silent_write(facts, 10, 2).facts.back().file = kOther;
  facts.write_back(30, 0, 4096).write_back(40, 0, 4096);
  for (Fact& fact : facts.facts)
    if (fact.ts_ns >= 40)
      fact.file = kOther;
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"write_back 1:4096 exact", "dirty_before 0:4096 inferred"}));
}

TEST(replay, a_doubt_goes_with_a_file_that_turns_out_to_lie_below_another) {
  constexpr std::uint32_t kBelow = kTestFile + 1;
  Replay replay;
  replay.files[kBelow].doubtful_ns = 20;
  replay.take_over(kBelow, kTestFile);
  EXPECT_TRUE(replay.is_sure_of(replay.files[kTestFile], 19));
  EXPECT_FALSE(replay.is_sure_of(replay.files[kTestFile], 20));
}

TEST(replay, dirty_pages_stay_with_a_file_that_turns_out_to_lie_below_another) {
  constexpr std::uint32_t kBelow = kTestFile + 1;
  TestFacts facts;
  facts.write(1, 1, 0, 4096);
  facts.facts.back().file = kBelow;
  Replay replay;
  replay.written_back = {kBelow, kTestFile};
  replay.traced = {kTestPid};
  replay.step(facts.facts.front());
  replay.step({.kind = FactKind::mapped, .ts_ns = 5}); // the write has ended
  replay.take_over(kBelow, kTestFile);
  const Trails trails = replay.finish();
  ASSERT_EQ(trails.fates.size(), 2U);
  EXPECT_EQ(trails.fates[0].file, kTestFile);
  EXPECT_EQ(trails.fates[0].written, 4096U);
  EXPECT_EQ(trails.fates[0].pending, 4096U);
  EXPECT_EQ(trails.fates[1].written, 0U);
}

// For a trace made to be expensive, the replay stops after too many looks.
TEST(replay, examined_entries_are_counted) {
  constexpr std::uint64_t kCalls = 1000;
  TestFacts facts;
  facts.has_cache_events = true;
  for (std::uint64_t op = 1; op <= kCalls; ++op)
    facts.write(op, op, op * 4096, 4096, kCalls * 10);
  facts.dirty(kCalls + 1, kCalls + 1, 0, 4096);
  Replay replay;
  for (const Fact& fact : facts.facts)
    replay.step(fact);
  EXPECT_GE(replay.all_looks(), kCalls);
  EXPECT_LT(replay.all_looks(), 2 * kCalls);
}

TEST(replay, a_write_of_unknown_position_may_be_anywhere) {
  TestFacts facts;
  facts.write(1, 1, 0, 4096);
  silent_write(facts, 10, 2).write_back(30, 0, 4096);
  facts.facts[1].file = 0;
  EXPECT_EQ(lines_of(facts.replay()), Lines{"write_back 1:4096 inferred"});
}

TEST(replay, a_direct_write_over_dirty_pages_has_those_written_back_first) {
  TestFacts facts;
  facts.write(1, 1, 0, 8192).write(10, 2, 0, 4096, 50);
  facts.write_back(20, 0, 4096, 2).bio(30, kNoOffset, 4096, 2, IOT_block_write);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), (Lines{"write_back 1:4096 exact", "direct 2:4096 exact"}));
  EXPECT_EQ(trails.fates[0].pending, 4096U);
  EXPECT_EQ(trails.fates[0].written, 8192U);
}

TEST(replay, making_dirty_pages_dirty_again_writes_nothing) {
  constexpr std::uint32_t kJournal = 77;
  TestFacts facts;
  facts.write(1, 1, 0, 100).dirty(1, 1, 0, 4096).dirty(10, 0, 0, 4096, kJournal);
  facts.write_back(30, 0, 4096);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), (Lines{"write_back 1:100 exact", "rounding 1:3996 exact"}));
  EXPECT_EQ(trails.fates[0].absorbed, 0U);
}

// A file system makes a page clean some time before it queues the bio.
TEST(replay, a_page_that_is_dirty_once_more_before_its_bio_comes_goes_twice) {
  TestFacts facts;
  facts.has_cache_events = true;
  facts.write(1, 1, 0, 300).dirty(1, 1, 0, 4096);
  facts.write(10, 2, 100, 100).dirty(10, 2, 0, 4096);
  facts.write(20, 3, 1000, 10);
  facts.write_back(30, 0, 4096);
  facts.write_back(40, 0, 4096);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails),
            (Lines{"write_back 1:300 shared", "rounding 2:100 exact", "write_back 2:100 exact",
                   "rounding 2:800 exact", "rounding 1:3796 shared", "write_back 3:10 exact",
                   "rounding 3:3086 exact"}));
  const Fate& fate = trails.fates.at(0);
  EXPECT_EQ(fate.written, 410U);
  EXPECT_EQ(fate.to_device, 410U);
  EXPECT_EQ(fate.absorbed, 0U);
  EXPECT_EQ(fate.pending, 0U);
}

TEST(replay, an_asynchronous_write_is_stored_under_whatever_call_runs) {
  TestFacts facts;
  facts.write(10, 1, 4096, 4096, 50).dirty(20, 9, 4096, 4096).write_back(100, 4096, 4096);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), Lines{"write_back 1:4096 exact"});
  EXPECT_EQ(trails.fates[0].written, 4096U);
  EXPECT_EQ(trails.fates[0].absorbed, 0U);
}

TEST(replay, a_hole_that_is_punched_takes_its_dirty_bytes_with_it) {
  TestFacts facts;
  facts.write(1, 1, 0, 8192);
  facts.add(
      {.kind = FactKind::punched, .ts_ns = 10, .file = kTestFile, .offset = 0, .bytes = 4096});
  const Trails trails = facts.replay();
  EXPECT_EQ(trails.fates[0].dropped, 4096U);
  EXPECT_EQ(trails.fates[0].pending, 4096U);
}

TEST(replay, stores_through_a_mapping_may_share_pages_that_were_dirty_already) {
  TestFacts facts;
  facts.add({.kind = FactKind::mapped, .ts_ns = 1, .file = kTestFile});
  facts.write(10, 1, 0, 4096).write_back(30, 0, 4096);
  EXPECT_EQ(lines_of(facts.replay()), Lines{"write_back 1:4096 shared"});
}

TEST(replay, a_bio_that_is_not_one_range_of_its_file_is_not_exact) {
  TestFacts facts;
  facts.write(10, 1, 0, 4096);
  facts.write_back(30, 0, 8192);
  facts.facts[1].is_contiguous = 0;
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"write_back 1:4096 inferred", "dirty_before 0:4096 inferred"}));
}

TEST(replay, a_bio_that_is_not_one_range_of_its_file_carries_its_dirty_pages) {
  TestFacts facts;
  facts.write(10, 1, 0, 4096).write(11, 2, 12288, 4096).write_back(30, 0, 8192);
  facts.facts[2].is_contiguous = 0;
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), (Lines{"write_back 1:4096 inferred", "write_back 2:4096 inferred"}));
  EXPECT_EQ(trails.links[1].offset, 12288U);
}

TEST(replay, a_bio_knows_when_its_request_was_in_the_schedulers_queue) {
  TestFacts facts;
  facts.write(1, 1, 0, 16384).write_back(10, 0, 8192, 1).write_back(30, 8192, 4096, 1);
  const auto insert = [&](std::uint64_t ts_ns, std::uint64_t place, std::uint64_t bytes) {
    facts.add({.kind = FactKind::inserted,
               .ts_ns = ts_ns,
               .bytes = bytes,
               .device = 1,
               .sector = place / kSectorBytes,
               .flags = IOT_block_write});
  };
  for (Fact& fact : facts.facts) // the first in two parts, the later one with the second bio
    if (fact.kind == FactKind::completed)
      fact = Fact{.kind = FactKind::completed,
                  .ts_ns = fact.ts_ns == 11 ? 40U : 50U,
                  .bytes = fact.ts_ns == 11 ? 4096U : 8192U,
                  .device = 1,
                  .sector = fact.ts_ns == 11 ? 0U : 8U,
                  .flags = IOT_block_write};
  insert(20, 0, 8192);
  insert(35, 0, 8192); // after the device sent it back
  std::vector<std::string> inserted;
  for (const Link& link : facts.replay().links)
    inserted.push_back(
        fmt::format("{}: {} {} {}", link.offset, link.queued_ns, link.inserted_ns, link.issued_ns));
  std::ranges::sort(inserted);
  EXPECT_EQ(inserted, (Lines{"0: 10 20 40", "4096: 10 20 50", "8192: 30 30 50"}));
}

// A journal writes the same place again and again: a missing completion must not take the next
// bio's.
TEST(replay, a_completion_that_is_missing_shifts_no_other) {
  TestFacts facts;
  for (const std::uint64_t ts_ns : {100U, 200U, 300U})
    facts.write_back(ts_ns, 0, 4096, ts_ns);
  std::erase_if(facts.facts, [](const Fact& fact) {
    return fact.kind == FactKind::completed && fact.ts_ns < 200;
  });
  for (Fact& fact : facts.facts)
    if (fact.kind == FactKind::completed)
      fact.queue_ns = 1;
  std::vector<std::string> completed;
  for (const Link& link : facts.replay().links)
    completed.push_back(fmt::format("{}: {}", link.queued_ns, link.completed_ns));
  std::ranges::sort(completed);
  EXPECT_EQ(completed, (Lines{"100: 0", "200: 206", "300: 306"}));
}

TEST(replay, a_write_back_has_its_trigger) {
  constexpr std::uint32_t kFlusher = 77;
  const auto reason = [](std::uint64_t op, std::uint32_t flusher) {
    TestFacts facts;
    facts.write(10, 1, 0, 4096);
    facts.add({.kind = FactKind::flushed,
               .ts_ns = 20,
               .pid = flusher,
               .file = kTestFile,
               .flags = IOT_writeback_reason_PERIODIC});
    facts.write_back(30, 0, 4096, op);
    facts.facts[2].pid = kFlusher;
    return facts.replay().links[0].reason;
  };
  EXPECT_EQ(reason(0, kFlusher), IOT_writeback_reason_PERIODIC);
  EXPECT_EQ(reason(2, kFlusher), IOT_writeback_reason_call); // an fsync
  EXPECT_EQ(reason(0, kFlusher + 1), IOT_writeback_reason_unknown);
}

// Only a hostile trace has one: the engine must not walk through its pages one by one.

TEST(replay, a_write_of_any_length_is_dropped_at_once) {
  TestFacts facts;
  facts.write(10, 1, 100, kFarthest, 50).dirty(20, 0, 8192, 1);
  facts.add({.kind = FactKind::evicted, .ts_ns = 30, .file = kTestFile, .bytes = kFarthest});
  facts.dirty(40, 0, 8192 + 4096, 1, 99).write_back(90, 8192, 4096);
  facts.has_cache_events = true;
  const Trails trails = facts.replay();
  ASSERT_FALSE(trails.fates.empty());
  for (const Fate& fate : trails.fates)
    EXPECT_EQ(fate.written, fate.to_device + fate.failed + fate.absorbed + fate.dropped +
                                fate.inlined + fate.pending);
}

TEST(replay, stores_through_mappings_have_their_own_cause) {
  TestFacts facts;
  facts.write(10, 1, 0, 100).dirty(20, 0, 4096, 4096).dirty(30, 0, 8192, 4096, 99);
  const Trails trails = facts.replay();
  ASSERT_EQ(trails.fates.size(), 2U);
  EXPECT_EQ(trails.fates[0].written, 4196U);
  EXPECT_EQ(trails.fates[0].mapped, 4096U);
  EXPECT_EQ(trails.fates[1].outside, 4096U);
}

TEST(replay, after_a_loss_nothing_is_exact) {
  TestFacts facts;
  facts.losses.note(IOT_LAYER_syscall, 15);
  facts.write(10, 1, 0, 4096).write_back(30, 0, 4096);
  EXPECT_EQ(lines_of(facts.replay()), Lines{"write_back 1:4096 inferred"});
}

TEST(replay, a_request_without_a_bio_is_a_remainder_or_has_the_owner_of_the_request) {
  TestFacts facts;
  facts.complete(10, 0, 4096, 0, IOT_block_write).complete(20, 8192, 4096, 9, IOT_block_write);
  EXPECT_EQ(lines_of(facts.replay()), (Lines{"no_bio 0:4096 inferred", "request 9:4096 inferred"}));
}

} // namespace
} // namespace iotrail::trail
