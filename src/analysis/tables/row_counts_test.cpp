// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/row_counts.hpp"

#include <gtest/gtest.h>

#include "analysis/engine/test_engine.hpp"

namespace iotrail::analysis {
namespace {

// Of a trace with these events.
std::vector<std::uint64_t> counts(std::string_view events,
                                  std::initializer_list<std::string_view> names) {
  const golden::TestTrace trace(events);
  const auto reader = store::TraceReader::open(trace.path());
  EXPECT_TRUE(reader.has_value());
  const RowCounts rows_of(**reader);
  std::vector<std::uint64_t> found;
  for (const std::string_view name : names)
    found.push_back(rows_of(name));
  return found;
}

using Counts = std::vector<std::uint64_t>;

TEST(RowCounts, count_events_layers_and_calls) {
  EXPECT_EQ(counts("syscall_read ts_ns=1 op_id=1 pid=7 tid=7 result=5 duration_ns=9\n"
                   "syscall_write ts_ns=2 op_id=2 pid=7 tid=7 result=5 duration_ns=9\n"
                   "block_complete ts_ns=3 op_id=2 bytes=512\n",
                   {"syscall_read", "syscall", "calls", "block", "net",
                    "syscall_read or block_complete"}),
            (Counts{1, 2, 2, 1, 0, 2}));
}

TEST(RowCounts, add_bytes_up_without_errors_of_calls) {
  EXPECT_EQ(counts("syscall_read ts_ns=1 op_id=1 pid=7 tid=7 result=5 duration_ns=9\n"
                   "syscall_read ts_ns=2 op_id=2 pid=7 tid=7 result=-5 duration_ns=9\n"
                   "syscall_write ts_ns=3 op_id=3 pid=7 tid=7 result=7 duration_ns=9\n"
                   "cache_delete ts_ns=4 pages=2\n"
                   "cache_delete ts_ns=5 pages=1\n",
                   {"syscall_read.bytes", "calls.bytes", "cache_delete.bytes", "net.bytes"}),
            (Counts{5, 12, 12288, 0}));
}

TEST(RowCounts, count_rows_with_an_error_or_an_operation) {
  EXPECT_EQ(counts("block_complete ts_ns=1 op_id=1 bytes=512 flags=discard\n"
                   "block_complete ts_ns=2 op_id=1 bytes=512 flags=write error=-5\n",
                   {"block_complete.discard", "block_complete.errors", "block_complete.read",
                    "net_drop.errors"}),
            (Counts{1, 1, 0, 0}));
}

TEST(RowCounts, count_waits_only_with_a_stack_of_their_reason) {
  EXPECT_EQ(counts("sched_wait ts_ns=1 op_id=1 pid=7 tid=7 stack=blk_mq_get_tag;schedule\n"
                   "sched_wait ts_ns=2 op_id=2 pid=7 tid=7 stack=blk_mq_get_tag;schedule\n",
                   {"waits.tag", "waits.memory", "waits.memory or waits.tag"}),
            (Counts{2, 0, 2}));
}

} // namespace
} // namespace iotrail::analysis
