// SPDX-License-Identifier: BSD-3-Clause
#include "text/text_width.hpp"
#include "text/units.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace iotrail::output {
namespace {

TEST(units, bytes_have_three_digits_and_never_1024_of_a_unit) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.00 KiB");
  EXPECT_EQ(human_bytes(10 * 1024), "10.0 KiB");
  EXPECT_EQ(human_bytes(1024 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(human_bytes(1500ULL << 20U), "1.46 GiB");
  EXPECT_EQ(human_bytes(UINT64_MAX), "16.0 EiB");
}

TEST(units, durations_have_three_digits_and_never_1000_of_a_unit) {
  EXPECT_EQ(human_duration(0), "0 ns");
  EXPECT_EQ(human_duration(999), "999 ns");
  EXPECT_EQ(human_duration(1000), "1.00 us");
  EXPECT_EQ(human_duration(9'999), "10.0 us");
  EXPECT_EQ(human_duration(999'499), "999 us");
  EXPECT_EQ(human_duration(999'999), "1.00 ms");
  EXPECT_EQ(human_duration(999'999'999), "1.00 s");
  EXPECT_EQ(human_duration(61'000'000'000), "61.0 s");
  EXPECT_EQ(human_duration(125'000'000'000), "2 min 05 s");
  EXPECT_EQ(human_duration(UINT64_MAX), "5124095 h 34 min");
  EXPECT_EQ(human_duration(7'260'000'000'000), "2 h 01 min");
}

TEST(units, a_status_that_a_signal_gave_names_it) {
  EXPECT_EQ(human_status(3), "3");
  EXPECT_EQ(human_status(128 + SIGSEGV), "139 (SIGSEGV)");
  EXPECT_EQ(human_status(128), "128");
  EXPECT_EQ(human_status(255), "255");
}

TEST(units, counts_are_grouped) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1,000");
  EXPECT_EQ(human_count(1234567), "1,234,567");
}

TEST(units, a_small_share_is_not_none) {
  EXPECT_EQ(human_share(0), "0.0 %");
  EXPECT_EQ(human_share(1e-6), "less than 0.1 %");
  EXPECT_EQ(short_share(1e-6), "< 0.1 %");
  EXPECT_EQ(short_share(0), "0.0 %");
  EXPECT_EQ(human_share(0.99999), "more than 99.9 %");
  EXPECT_EQ(short_share(0.99999), "> 99.9 %");
  EXPECT_EQ(human_share(1), "100.0 %");
  EXPECT_EQ(human_share(0.851), "85.1 %");
}

TEST(text_width, texts_are_cut_between_characters) {
  EXPECT_EQ(shortened_middle("/usr/lib/libc.so", 16), "/usr/lib/libc.so");
  EXPECT_EQ(shortened_middle("/usr/lib/libc.so", 12), "/.../libc.so");
  EXPECT_EQ(shortened_middle("ÄÖÜäöüß", 6), "Ä...üß");
  EXPECT_EQ(shortened_middle("abc", 2), "ab");
  EXPECT_EQ(shortened_end("sqlite3 shop.db", 10), "sqlite3...");
  EXPECT_EQ(shortened_end("abcdef", 2), "..");
}

TEST(text_width, different_paths_stay_different) {
  const std::vector<std::string> paths = {"/var/lib/store/2023-01/table/events.log",
                                          "/var/lib/store/2024-01/table/events.log",
                                          "/var/lib/store/2024-01/table/events.log", "/etc/fstab"};
  EXPECT_EQ(shortened_apart(paths, 24),
            (std::vector<std::string>{"...2023-01/table/even...", "...2024-01/table/even...",
                                      "...2024-01/table/even...", "/etc/fstab"}));
}

TEST(text_width, sentences_are_wrapped_between_words) {
  EXPECT_EQ(wrapped("one two three", 8), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("incomprehensible it is", 6),
            (std::vector<std::string>{"incomprehensible", "it is"}));
  EXPECT_EQ(wrapped("", 6), std::vector<std::string>{""});
  EXPECT_EQ(
      wrapped("all of it: iotrail query TRACE \"FROM x\"; and more", 34),
      (std::vector<std::string>{"all of it:", "iotrail query TRACE \"FROM x\"; and", "more"}));
  EXPECT_EQ(wrapped("all: iotrail query TRACE \"FROM x\"", 20),
            (std::vector<std::string>{"all: iotrail query", "TRACE \"FROM x\""}));
  EXPECT_EQ(wrapped("not all; why: iotrail info --wide", 30),
            (std::vector<std::string>{"not all; why:", "iotrail info --wide"}));
  EXPECT_EQ(wrapped("it is (`iotrail stat`) that adds up", 16),
            (std::vector<std::string>{"it is", "(`iotrail stat`)", "that adds up"}));
  EXPECT_EQ(wrapped("`iotrail query TRACE` lists", 22),
            (std::vector<std::string>{"`iotrail query TRACE`", "lists"}));
  EXPECT_EQ(wrapped("any of app: 0.5 %; all", 15),
            (std::vector<std::string>{"any of app:", "0.5 %; all"}));
  EXPECT_EQ(wrapped("waited 19.5 us (39.0 %), ran", 14),
            (std::vector<std::string>{"waited 19.5 us", "(39.0 %), ran"}));
}

TEST(text_width, quoted_commands_and_paths_are_not_broken) {
  EXPECT_EQ(wrapped("raise the limit: `ulimit -n 4096`", 24),
            (std::vector<std::string>{"raise the limit:", "`ulimit -n 4096`"}));
  EXPECT_EQ(wrapped("there is no trace ('my trace'): none", 30),
            (std::vector<std::string>{"there is no trace", "('my trace'): none"}));
  EXPECT_EQ(wrapped("a 'quote that is longer than a line'", 16),
            (std::vector<std::string>{"a 'quote that is", "longer than a", "line'"}));
  EXPECT_EQ(wrapped("the kernel's own and 'one", 14),
            (std::vector<std::string>{"the kernel's", "own and 'one"}));
}

TEST(text_width, labels_are_broken_and_not_cut) {
  EXPECT_EQ(folded("jbd2_log_wait_commit", 17),
            (std::vector<std::string>{"jbd2_log_wait_", "commit"}));
  EXPECT_EQ(folded("write, dirty before", 16),
            (std::vector<std::string>{"write, dirty", "before"}));
  EXPECT_EQ(folded("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(folded("", 3), std::vector<std::string>{""});
}

TEST(text_width, many_words_take_time_for_each_once) {
  std::string words;
  for (int i = 0; i < 2'000'000; ++i)
    words += "c ";
  words.pop_back();
  EXPECT_EQ(wrapped(words, kAnyWidth),
            std::vector{words}); // of each word with all before it: hours
  EXPECT_EQ(wrapped("ab c def", 4), (std::vector<std::string>{"ab c", "def"}));
  EXPECT_EQ(wrapped("abcdef c", 4), (std::vector<std::string>{"abcdef", "c"}));
}

TEST(text_width, facts_of_any_length_are_cut) {
  EXPECT_EQ(shortened_fact("host", kPlainWidth), "host");
  const std::string long_name(3'000'000, 'h');
  EXPECT_LT(shortened_fact(long_name, kPlainWidth).size(), 5'000U);
  EXPECT_TRUE(shortened_fact(long_name, kAnyWidth).ends_with("h..."));
}

} // namespace
} // namespace iotrail::output
