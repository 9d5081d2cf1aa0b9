// SPDX-License-Identifier: BSD-3-Clause
//
// Commits of a journal, divided among the operations that changed the transaction.
#include <gtest/gtest.h>

#include "trail/test_facts.hpp"

namespace iotrail::trail {

namespace {

constexpr std::uint64_t kJournalThread = 90;
constexpr std::uint64_t kTransaction = 12;

class Journal : public TestFacts {
public:
  void change(std::uint64_t ts_ns, std::uint64_t op, std::uint64_t blocks) {
    add({.kind = FactKind::joined,
         .ts_ns = ts_ns,
         .op_id = op,
         .pid = kTestPid,
         .bytes = blocks,
         .device = 1,
         .sector = kTransaction});
  }
  void commit(std::uint64_t ts_ns, std::uint64_t handles, std::uint64_t blocks,
              std::uint64_t traced_handles = 0) {
    add({.kind = FactKind::committed,
         .ts_ns = ts_ns,
         .duration_ns = 100,
         .pid = kJournalThread,
         .bytes = blocks,
         .result = traced_handles,
         .device = 1,
         .sector = kTransaction,
         .call = handles});
  }
  // For an operation that waits meanwhile. The kernel may not mark it as metadata.
  void awaited_block(std::uint64_t ts_ns, std::uint64_t number, std::uint64_t op,
                     std::uint64_t hints = IOT_block_hint_meta,
                     std::uint64_t io_class = IOT_io_class_journal) {
    const std::uint64_t flags = IOT_block_write | hints;
    add({.kind = FactKind::queued,
         .ts_ns = ts_ns,
         .op_id = op,
         .pid = op == 0 ? kJournalThread : kTestPid,
         .bytes = 4096,
         .device = 1,
         .sector = number * 8,
         .flags = flags,
         .io_class = io_class});
    complete(ts_ns + 1, number * 4096, 4096, 0, flags);
  }
  void block(std::uint64_t ts_ns, std::uint64_t number, std::uint64_t pid = kJournalThread) {
    const std::uint64_t flags = IOT_block_write | IOT_block_hint_meta;
    add({.kind = FactKind::queued,
         .ts_ns = ts_ns,
         .pid = pid,
         .bytes = 4096,
         .device = 1,
         .sector = number * 8,
         .flags = flags});
    complete(ts_ns + 1, number * 4096, 4096, 0, flags);
  }
  void home_block(std::uint64_t ts_ns, std::uint64_t number, std::uint64_t op) {
    awaited_block(ts_ns, number, op, IOT_block_hint_meta, IOT_io_class_metadata);
  }
};

} // namespace

TEST(replay, a_commit_is_shared_by_the_blocks_that_each_operation_changed) {
  Journal facts;
  facts.change(10, 1, 3);
  facts.change(11, 2, 1);
  facts.commit(20, 2, 2);
  facts.block(21, 0);
  facts.block(22, 1);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"metadata 1:4096 shared", "metadata 1:2048 shared", "metadata 2:2048 shared"}));
}

TEST(replay, changes_of_tasks_that_are_not_in_the_trace_have_a_share_of_the_commit) {
  Journal facts;
  facts.change(10, 1, 2);
  facts.commit(20, 2, 2);
  facts.block(21, 0);
  facts.block(22, 1);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"metadata 1:4096 shared", "other_metadata 0:4096 exact"}));
}

TEST(replay, what_is_no_part_of_a_commit_has_no_operation) {
  Journal facts;
  facts.block(5, 0); // before
  facts.change(10, 1, 2);
  facts.block(11, 1); // of no commit
  facts.commit(20, 1, 1);
  facts.block(21, 2, kJournalThread + 1); // another thread
  facts.block(22, 3);
  facts.block(200, 4); // after its end
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"other_metadata 0:4096 exact", "other_metadata 0:4096 exact",
                   "other_metadata 0:4096 exact", "metadata 1:4096 shared",
                   "other_metadata 0:4096 exact"}));
}

TEST(replay, more_blocks_than_a_commit_announced_belong_to_its_last_change) {
  Journal facts;
  facts.change(10, 1, 1);
  facts.change(11, 2, 1);
  facts.commit(20, 2, 1);
  facts.block(21, 0);
  facts.block(22, 1);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"metadata 1:2048 shared", "metadata 2:2048 shared", "metadata 2:4096 shared"}));
}

TEST(replay, an_awaited_commit_with_changes_of_untraced_tasks_is_shared) {
  Journal facts;
  facts.commit(20, 3, 1, 2);
  facts.awaited_block(21, 0, 1);
  facts.awaited_block(121, 1, 1); // after its end
  facts.commit(200, 2, 1, 2);
  facts.awaited_block(201, 2, 1);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"metadata 1:4096 shared", "metadata 1:4096 exact", "metadata 1:4096 exact"}));
}

TEST(replay, metadata_of_older_transactions_is_shared) {
  Journal facts;
  facts.home_block(10, 0, 1);
  facts.add({.kind = FactKind::emptied, .ts_ns = 20, .op_id = 1, .pid = kTestPid});
  facts.home_block(21, 1, 1);
  facts.home_block(22, 2, 2); // of another operation
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"metadata 1:4096 exact", "metadata 1:4096 shared", "metadata 2:4096 exact"}));
}

TEST(replay, a_block_of_a_journal_is_metadata_without_a_mark) {
  Journal facts;
  facts.awaited_block(20, 0, 0, 0);
  facts.awaited_block(30, 1, 1, 0);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"other_metadata 0:4096 exact", "metadata 1:4096 exact"}));
}

} // namespace iotrail::trail
