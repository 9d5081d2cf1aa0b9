// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/event_stream.hpp"

#include <gtest/gtest.h>

#include <random>

#include "analysis/trace_dictionaries.hpp"
#include "test_trace.hpp"

namespace iotrail::analysis {
namespace {

std::unique_ptr<store::TraceReader> open_reader(const golden::TestTrace& trace) {
  auto reader = store::TraceReader::open(trace.path());
  EXPECT_TRUE(reader.has_value());
  return std::move(*reader);
}

TEST(event_stream, events_of_overlapping_blocks_come_in_the_order_of_time) {
  std::mt19937 random(7); // NOLINT: the same trace each time
  std::string text;
  constexpr int kEvents = 3000;
  for (int i = 0; i < kEvents; ++i)
    text += fmt::format("{} ts_ns={}\n{}", i % 3 == 0 ? "syscall_read" : "syscall_write",
                        i * 10 + static_cast<int>(random() % 2000), i % 50 == 49 ? "block\n" : "");
  const golden::TestTrace trace(text);
  const auto reader = open_reader(trace);
  EventStream events(*reader);
  std::uint64_t previous_ns = 0;
  int count = 0;
  for (; events.next(); ++count) {
    EXPECT_GE(events.time_ns(), previous_ns);
    previous_ns = events.time_ns();
  }
  EXPECT_EQ(count, kEvents);
  EXPECT_GT(reader->blocks().size(), 100U);
  EXPECT_LT(events.blocks_open_max(), 20U); // the overlap of 2000 ns, not the trace
}

TEST(event_stream, one_table_can_be_read_alone) {
  const golden::TestTrace trace(
      "syscall_read ts_ns=1\nsyscall_write ts_ns=2\nsyscall_read ts_ns=3\n");
  const auto reader = open_reader(trace);
  EventStream events(*reader, {IOT_KIND_syscall_read});
  int count = 0;
  while (events.next()) {
    EXPECT_EQ(events.table().name, "syscall_read");
    ++count;
  }
  EXPECT_EQ(count, 2);
}

TEST(event_stream, a_damaged_block_is_passed_over_and_counted) {
  const golden::TestTrace trace(
      "syscall_read ts_ns=1\nblock\nsyscall_write ts_ns=2\nblock\nsyscall_read ts_ns=3\n"
      "damage table=syscall_write\n");
  const auto reader = open_reader(trace);
  EventStream events(*reader);
  std::vector<std::uint64_t> times;
  while (events.next())
    times.push_back(events.time_ns());
  EXPECT_EQ(times, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(reader->damage().rows_skipped, 1U);
}

TEST(trace_dictionaries, a_process_has_the_name_that_it_had_at_the_time) {
  const golden::TestTrace trace("processes since_ns=20 pid=1 comm=new\nprocesses since_ns=10 pid=1 "
                                "comm=old\nprocesses since_ns=5 pid=2 comm=other\n");
  const TraceDictionaries dictionaries = TraceDictionaries::load(*open_reader(trace));
  EXPECT_EQ(dictionaries.comm(1, 15), "old");
  EXPECT_EQ(dictionaries.comm(1, 20), "new");
  EXPECT_EQ(dictionaries.comm(1, 3),
            "old"); // seen after its first event: the first name it is known by
  EXPECT_EQ(dictionaries.comm(3, 3), "");
}

} // namespace
} // namespace iotrail::analysis
