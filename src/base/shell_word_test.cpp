// SPDX-License-Identifier: BSD-3-Clause
#include "base/shell_word.hpp"

#include <gtest/gtest.h>

namespace iotrail {
namespace {

TEST(ShellWord, a_usual_name_is_itself) {
  EXPECT_EQ(shell_word("/tmp/a-b_1.iotrail"), "/tmp/a-b_1.iotrail");
  EXPECT_EQ(shell_word("größe"), "größe");
}

TEST(ShellWord, nothing_in_it_is_executed) {
  EXPECT_EQ(shell_word("$(touch pwned)"), "'$(touch pwned)'");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's;`x`"), "'it'\\''s;`x`'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(ShellWord, hidden_characters_survive_a_copy) {
  EXPECT_EQ(shell_word("a\x1b'\\\u200bz"), "$'a\\x1b\\'\\\\\\xe2\\x80\\x8bz'");
  EXPECT_EQ(shell_word("a\xff.iotrail"), "$'a\\xff.iotrail'");
  EXPECT_EQ(shell_word("two\nlines"), "$'two\\x0alines'");
  EXPECT_EQ(shell_word("\u00a0"), "$'\\xc2\\xa0'");
}

} // namespace
} // namespace iotrail
