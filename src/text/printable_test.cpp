// SPDX-License-Identifier: BSD-3-Clause
#include "text/printable.hpp"

#include <gtest/gtest.h>

namespace iotrail::output {
namespace {

TEST(Printable, text_of_any_language_stays) {
  for (const char* text : {"a.db", "größe", "データ", "данные", "📁"})
    EXPECT_EQ(printable(text), text);
}

// Two names that look alike would be taken for one.
TEST(Printable, what_is_not_seen_or_looks_like_a_blank_is_escaped) {
  for (const char* text :
       {"a\u00a0b", "a\u034fb", "a\u1680b", "a\u2003b", "a\u200ab", "a\u202fb", "a\u205fb",
        "a\u2800b", "a\u3000b", "a\ufe00b", "a\ufe0fb", "a\u180cb"}) {
    EXPECT_FALSE(is_printable(text)) << text;
    EXPECT_TRUE(printable(text).starts_with("a\\x")) << text;
  }
}

TEST(Printable, nothing_gives_orders_to_a_terminal) {
  EXPECT_EQ(printable("a\x1b[31m\n"), "a\\x1b[31m\\x0a");
  EXPECT_EQ(printable_lines("a\n\x1b"), "a\n\\x1b");
  EXPECT_EQ(printable("\u009b\u202e"), "\\xc2\\x9b\\xe2\\x80\\xae");
  EXPECT_EQ(printable("\xff"), "\\xff");
}

TEST(Printable, a_name_of_the_user_ends_no_line_of_a_message) {
  EXPECT_EQ(
      printable_message({.what = "no trace a\nb", .why = "looked for a\nb", .hint = "x\n  y"}),
      "no trace a\\x0ab: looked for a\\x0ab\n  x\n  y");
  EXPECT_EQ(printable_message(
                {.what = "query", .why = "LINE 1: a\n  ^\x1b", .hint = {}, .has_lines = true}),
            "query: LINE 1: a\n  ^\\x1b");
}

} // namespace
} // namespace iotrail::output
