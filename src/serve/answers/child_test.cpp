// SPDX-License-Identifier: BSD-3-Clause
#include "serve/answers/child.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <cstdlib>

namespace iotrail::serve {

TEST(AnswerOfAChild, text_and_errors_come_through) {
  const std::string long_text(300'000, 'x');
  EXPECT_EQ(
      made_by_child([&](const auto&) { return Result<std::string>(long_text); }, 10'000, 400'000)
          .value(),
      long_text);
  const auto failed = made_by_child(
      [](const auto&) -> Result<std::string> { return fail("no", "because", "do this"); }, 10'000,
      1000);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message(), "no: because\n  do this");
}

TEST(AnswerOfAChild, a_long_text_is_cut_at_a_line_and_says_so) {
  const auto made = made_by_child(
      [](const auto&) { return Result<std::string>("one\ntwo\nthree\n"); }, 10'000, 9);
  EXPECT_EQ(made.value(), "one\ntwo\ntruncated: true\n");
}

TEST(AnswerOfAChild, a_crash_and_a_hang_are_errors) {
  const auto crashed =
      made_by_child([](const auto&) -> Result<std::string> { std::abort(); }, 10'000, 1000);
  EXPECT_NE(crashed.error().message().find("signal 6"), std::string::npos);
  const auto hung = made_by_child(
      [](const auto&) -> Result<std::string> {
        ::poll(nullptr, 0, -1);
        return "";
      },
      100, 1000);
  EXPECT_NE(hung.error().message().find("longer than"), std::string::npos);
}

TEST(AnswerOfAChild, an_overdue_query_ends_it_with_the_reason) {
  const auto made = made_by_child(
      [](const analysis::OnOverdue& on_overdue) -> Result<std::string> {
        on_overdue(Error{"overdue", "", ""});
        return "not reached";
      },
      10'000, 1000);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().message(), "overdue");
}

} // namespace iotrail::serve
