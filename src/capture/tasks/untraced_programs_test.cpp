// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tasks/untraced_programs.hpp"

#include <gtest/gtest.h>

namespace iotrail::capture {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

class UnseenProgramsTest : public ::testing::Test {
protected:
  UnseenProgramsTest() { programs_.expect(); }

  void execute(iot_u32 pid, std::uint64_t at_ns, iot_u32 parent = 1) {
    rows::processes row;
    row.pid = pid;
    row.parent_pid = parent;
    row.since_ns = at_ns;
    row.exe = "program";
    programs_.note_exec(row, at_ns);
  }
  // The final count, after everything has ended.
  std::uint64_t count_at_end() {
    programs_.decide_all(100 * kSecondNs, [](iot_u32) { return false; });
    EXPECT_EQ(programs_.count(), programs_.first().size());
    return programs_.count();
  }

  UntracedPrograms programs_;
};

} // namespace

TEST_F(UnseenProgramsTest, a_program_without_an_announcement_is_unseen) {
  execute(10, 1);
  execute(11, 2);
  programs_.note_announcement(11, 5, 5);
  programs_.note_end(10, 9);
  programs_.decide(kSecondNs);
  EXPECT_EQ(programs_.count(), 1U);
  EXPECT_EQ(programs_.first().at(0).pid, 10U);
  EXPECT_EQ(count_at_end(), 1U);
}

TEST_F(UnseenProgramsTest, announcement_may_be_heard_before_the_kernels_word) {
  programs_.note_announcement(10, 5, 5);
  programs_.decide(6);
  execute(10, 2);
  EXPECT_EQ(count_at_end(), 0U);
}

TEST_F(UnseenProgramsTest, a_late_report_is_not_old) {
  programs_.note_announcement(10, 5, 50 * kSecondNs);
  programs_.decide(50 * kSecondNs);
  execute(10, 2);
  EXPECT_EQ(count_at_end(), 0U);
}

TEST_F(UnseenProgramsTest, a_recorder_that_had_to_wait_forgets_no_announcement) {
  programs_.note_announcement(10, 5, 5);
  programs_.decide(5);
  rows::processes row;
  row.pid = 10;
  row.since_ns = 2;
  programs_.note_exec(row, 50 * kSecondNs); // long between two sources of one drain
  programs_.note_end(10, 50 * kSecondNs);
  programs_.decide(50 * kSecondNs);
  programs_.decide(51 * kSecondNs);
  EXPECT_EQ(count_at_end(), 0U);
}

TEST_F(UnseenProgramsTest, each_program_of_a_process_is_decided_on) {
  execute(10, 1);
  programs_.note_announcement(10, 2, 2);
  execute(10, 3);
  execute(10, 5);
  programs_.note_announcement(10, 6, 6);
  EXPECT_EQ(count_at_end(), 1U);
}

TEST_F(UnseenProgramsTest, a_reported_program_is_known_already) {
  programs_.note_reported(10);
  execute(10, 1);
  execute(10, 5); // reported once
  programs_.note_reported(20);
  execute(21, 6, 20);
  EXPECT_EQ(count_at_end(), 1U);
}

TEST_F(UnseenProgramsTest, program_that_may_still_be_loaded_is_not_accused) {
  execute(10, 1);
  execute(11, 99 * kSecondNs + 1);
  programs_.decide_all(100 * kSecondNs, [](iot_u32) { return true; });
  EXPECT_EQ(programs_.count(), 1U);
}

TEST(UntracedPrograms, none_where_no_library_is_expected) {
  UntracedPrograms programs;
  rows::processes row;
  row.pid = 10;
  programs.note_exec(row, 1);
  programs.decide_all(kSecondNs, [](iot_u32) { return false; });
  EXPECT_EQ(programs.count(), 0U);
}

} // namespace iotrail::capture
