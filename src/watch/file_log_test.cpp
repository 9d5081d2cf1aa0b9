// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "watch/file_log.hpp"

namespace iotrail::watch {
namespace {

LogEntry entry_at(std::uint64_t ts_ns) {
  return {.ts_ns = ts_ns, .comm = "dd"};
}

std::vector<std::uint64_t> times(const FileLog& log) {
  std::vector<std::uint64_t> all;
  for (const LogEntry& entry : log.all())
    all.push_back(entry.ts_ns);
  return all;
}

using Times = std::vector<std::uint64_t>;

TEST(file_log, oldest_entries_are_replaced) {
  FileLog log(3, 0);
  for (std::uint64_t ts_ns = 1; ts_ns <= 5; ++ts_ns)
    log.add(entry_at(ts_ns));
  EXPECT_EQ(times(log), (Times{3, 4, 5}));
  log.keep(10);
  log.add(entry_at(11));
  EXPECT_EQ(times(log), (Times{4, 5, 11}));
  EXPECT_EQ(log.entries(), 3U);
}

TEST(file_log, reading_a_recording_again_adds_nothing) {
  FileLog log(10, 0);
  for (int time = 0; time < 2; ++time) {
    log.begin_recording();
    log.add(entry_at(1));
    log.add(entry_at(2));
  }
  EXPECT_EQ(times(log), (Times{1, 2}));
}

TEST(file_log, takes_events_of_enabled_times_alone) {
  FileLog log(10, 100);
  log.stop(200);
  log.start(300);
  for (const std::uint64_t ts_ns : {99, 100, 199, 200, 299, 300})
    log.add(entry_at(ts_ns));
  EXPECT_EQ(times(log), (Times{100, 199, 300}));
}

TEST(file_log, a_stop_that_is_read_later_still_counts) {
  FileLog log(10, 0);
  log.stop(20);
  log.keep(10); // of a recording that ended before the stop
  log.add(entry_at(15));
  log.add(entry_at(25));
  EXPECT_EQ(times(log), (Times{15}));
}

TEST(file_log, reset_drops_entries_and_keeps_the_time) {
  FileLog log(10, 5);
  log.add(entry_at(6));
  log.reset(7);
  log.begin_recording();
  log.add(entry_at(6)); // the recording still has it
  log.add(entry_at(8));
  EXPECT_EQ(times(log), (Times{8}));
  EXPECT_EQ(log.zero_ns(), 5U);
  log.reset_time(9);
  EXPECT_EQ(log.entries(), 0U);
  EXPECT_EQ(log.zero_ns(), 9U);
}

TEST(file_log, reset_of_a_stopped_log_leaves_it_stopped) {
  FileLog log(10, 0);
  log.stop(5);
  log.reset(6);
  log.add(entry_at(7));
  EXPECT_EQ(log.entries(), 0U);
  EXPECT_FALSE(log.is_enabled());
}

} // namespace
} // namespace iotrail::watch
