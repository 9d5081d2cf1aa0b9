// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/app_calls.hpp"

#include <gtest/gtest.h>

#include "analysis/engine/test_engine.hpp"

namespace iotrail::analysis {
namespace {

TEST(AppCalls, a_selected_system_call_in_a_library_call_that_is_not_selected_is_outside) {
  const golden::TestTrace trace(
      "app_write ts_ns=10 op_id=0x8000000000000001 pid=7 tid=7 file=/b duration_ns=9\n"
      "syscall_write ts_ns=12 op_id=1 pid=7 tid=7 file=/a duration_ns=5\n"
      "app_write ts_ns=30 op_id=0x8000000000000002 pid=7 tid=7 file=/a duration_ns=9\n"
      "syscall_write ts_ns=30 op_id=2 pid=7 tid=7 file=/a duration_ns=10\n"
      "syscall_write ts_ns=50 op_id=3 pid=7 tid=7 file=/b duration_ns=5\n");
  const char* const sql =
      "SELECT string_agg(syscall_op || place || coalesce(app_op - 9223372036854775808, 0), ' ' "
      "ORDER BY syscall_op) FROM app_calls_of_syscalls";
  for (const auto& [file, places] : {std::pair("", "1inside1 2cut2 3outside0"),
                                     {"/a", "1outside0 2cut2"},
                                     {"/b", "3outside0"}}) {
    auto engine = Engine::open(trace.path(), {.selection = {.file = file}});
    ASSERT_TRUE(engine.has_value()) << engine.error().message();
    EXPECT_EQ(answer(**engine, sql), places) << file;
  }
}

// "1inside", "2cut": system calls by number.
std::string places(std::string_view events) {
  const golden::TestTrace trace(events);
  const auto reader = store::TraceReader::open(trace.path());
  EXPECT_TRUE(reader.has_value());
  std::string text;
  for (const AppCall& call : find_app_calls(**reader).calls)
    text +=
        fmt::format("{}{}{}{} ", call.syscall_op, call.kind->place, call.app_op, call.kind->event);
  return text;
}

TEST(AppCalls, at_equal_times_the_library_call_came_first) {
  EXPECT_EQ(places("syscall_write ts_ns=10 op_id=1 pid=7 tid=7 duration_ns=5\n"
                   "app_write ts_ns=10 op_id=2 pid=7 tid=7 duration_ns=5\n"
                   "app_sync ts_ns=10 op_id=3 pid=7 tid=7 duration_ns=9\n"),
            "1inside2app_write ");
}

TEST(AppCalls, of_another_thread_has_no_part) {
  EXPECT_EQ(places("app_write ts_ns=10 op_id=2 pid=7 tid=7 duration_ns=50\n"
                   "syscall_write ts_ns=20 op_id=1 pid=7 tid=8 duration_ns=5\n"
                   "syscall_write ts_ns=30 op_id=3 pid=8 tid=7 duration_ns=5\n"),
            "1outside0 3outside0 ");
}

TEST(AppCalls, an_interrupted_call_continues_after_the_signal_handler) {
  EXPECT_EQ(places("app_write ts_ns=10 op_id=2 pid=7 tid=7 duration_ns=90\n"
                   "app_sync ts_ns=20 op_id=3 pid=7 tid=7 duration_ns=10\n"
                   "syscall_sync ts_ns=21 op_id=1 pid=7 tid=7 duration_ns=20\n"
                   "syscall_write ts_ns=50 op_id=4 pid=7 tid=7 duration_ns=5\n"),
            "1cut3app_sync 4inside2app_write ");
}

TEST(AppCalls, that_ends_after_the_last_time_does_not_overflow) {
  EXPECT_EQ(places("app_write ts_ns=18446744073709551600 op_id=2 pid=7 tid=7 "
                   "duration_ns=18446744073709551615\n"
                   "syscall_write ts_ns=18446744073709551610 op_id=1 pid=7 tid=7 "
                   "duration_ns=18446744073709551615\n"),
            "1inside2app_write ");
}

} // namespace
} // namespace iotrail::analysis
