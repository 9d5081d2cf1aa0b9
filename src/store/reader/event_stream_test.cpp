// SPDX-License-Identifier: BSD-3-Clause
#include "store/reader/event_stream.hpp"

#include <gtest/gtest.h>

#include <random>

#include "test_trace.hpp"

namespace iotrail::store {
namespace {

std::unique_ptr<TraceReader> open_reader(const golden::TestTrace& trace) {
  auto reader = TraceReader::open(trace.path());
  EXPECT_TRUE(reader.has_value());
  return std::move(*reader);
}

TEST(event_stream, events_of_overlapping_blocks_come_in_the_order_of_time) {
  std::mt19937 random(7); // NOLINT: a fixed seed, so that each run makes the same trace
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
  // Depends on the overlap of 2000 ns, not on the size of the trace.
  EXPECT_LT(events.blocks_open_max(), 20U);
}

TEST(event_stream, a_column_is_found_by_its_role_its_meaning_or_its_name) {
  const golden::TestTrace trace("syscall_read ts_ns=1\n");
  const auto reader = open_reader(trace);
  const TableInfo& read = *reader->table(IOT_KIND_syscall_read);
  EXPECT_EQ(read.index(schema::Role::bytes), read.column("result"));
  EXPECT_EQ(read.index(schema::Role::requested), read.column("bytes_requested"));
  EXPECT_EQ(read.index(schema::Meaning::bytes), read.column("bytes_requested"));
  EXPECT_EQ(read.index("fd"), read.column("fd"));
  EXPECT_GE(read.column("fd"), 0);
  EXPECT_EQ(read.index(schema::Role::to_file), -1);
  EXPECT_EQ(read.index(schema::Meaning::sector), -1);
  EXPECT_EQ(read.index("sector"), -1);
}

TEST(event_stream, no_column_of_any_table_is_no_event) {
  const golden::TestTrace trace("syscall_read ts_ns=1\n");
  const auto reader = open_reader(trace);
  EXPECT_FALSE(EventStream(*reader, EventStream::Columns{}).next());
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

} // namespace
} // namespace iotrail::store
