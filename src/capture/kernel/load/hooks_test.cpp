// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/load/hooks.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace iotrail::capture::kernel {
namespace {

bool is_chosen(std::string_view program, const Refusals& refusals) {
  return std::ranges::count(chosen_programs({}, refusals), program) == 1;
}

} // namespace

// With one end only, every call would count as one that never returns.
TEST(HooksTest, calls_are_followed_at_both_ends_or_not_at_all) {
  EXPECT_TRUE(is_chosen("syscall_sys_enter", {}) && is_chosen("syscall_sys_exit", {}));
  for (const char* refused : {"syscall_sys_enter", "syscall_sys_exit"}) {
    Refusals refusals;
    refusals.add(refused, "why");
    EXPECT_FALSE(is_chosen("syscall_sys_enter", refusals)) << refused;
    EXPECT_FALSE(is_chosen("syscall_sys_exit", refusals)) << refused;
    EXPECT_EQ(refusal_to_follow_tasks(refusals), nullptr);
  }
}

TEST(HooksTest, tasks_are_followed_or_nothing_is_recorded) {
  EXPECT_EQ(refusal_to_follow_tasks({}), nullptr);
  Refusals refusals;
  refusals.add("process_task_newtask", "why");
  ASSERT_NE(refusal_to_follow_tasks(refusals), nullptr);
  EXPECT_EQ(*refusal_to_follow_tasks(refusals), "why");
}

TEST(HooksTest, a_refused_alternative_makes_room_for_the_next) {
  const auto hooks = std::ranges::find_if(
      event_hooks(), [](const EventHooks& row) { return row.alternatives.size() > 1; });
  ASSERT_NE(hooks, event_hooks().end());
  Refusals refusals;
  EXPECT_EQ(choose(*hooks, refusals), &hooks->alternatives[0]);
  refusals.add(std::string(hooks->alternatives[0].programs.back()), "why");
  EXPECT_EQ(choose(*hooks, refusals), &hooks->alternatives[1]);
}

} // namespace iotrail::capture::kernel
