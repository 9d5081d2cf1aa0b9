// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "watch/log_text.hpp"

namespace iotrail::watch {
namespace {

TEST(log_text, lines_are_those_of_the_original) {
  const LogCopy log{.zero_ns = 1'000'000'000,
                    .entries = {
                        {61'634'318'652'058, 1'879'048'192, 16'384, 14'272, true, false, "ATA-0"},
                        {61'634'318'663'395, 21'282'816, 16'384, 14'272, true, true, "ATA-0"},
                        {1'000'000'007, 3'547'136, 524'288, 1847, false, true, "d\nd"},
                    }};
  EXPECT_EQ(log_text(log), "61633.318652058;R;1879048192;16384;VFS;ATA-0;14272\n"
                           "61633.318663395;R;21282816;16384;BLK;ATA-0;14272\n"
                           "0.000000007;W;3547136;524288;BLK;d d;1847\n");
}

TEST(log_text, state_and_list) {
  const LogState state{.name = "sda1_131",
                       .paths = {"/srv/a b", "/srv/c"},
                       .is_enabled = true,
                       .zero_ns = 5'000'000'012,
                       .most = 20,
                       .entries = 3};
  EXPECT_EQ(state_text(state), "1 5.000000012 20 3\n");
  EXPECT_EQ(list_text({&state, 1}), "sda1_131 /srv/a b /srv/c\n");
}

TEST(log_text, control_lines) {
  const auto plain = parse_control("add /srv/a\n");
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->is_add);
  EXPECT_EQ(plain->path, "/srv/a");
  EXPECT_EQ(plain->most, 0U);
  const auto blanks = parse_control("  add   /srv/my  file  20 \n");
  ASSERT_TRUE(blanks);
  EXPECT_EQ(blanks->path, "/srv/my  file");
  EXPECT_EQ(blanks->most, 20U);
  const auto digits = parse_control("remove /srv/file 20\n");
  ASSERT_TRUE(digits);
  EXPECT_FALSE(digits->is_add);
  EXPECT_EQ(digits->path, "/srv/file 20");
  EXPECT_EQ(parse_control("add /srv/file20")->path, "/srv/file20");
  EXPECT_EQ(parse_control("add 20")->path, "20");
}

TEST(log_text, refuses_other_lines) {
  const std::string large(1U << 20U, 'a');
  const std::string with_zero("add /a\0b", 8);
  for (const std::string& line :
       {std::string(), std::string("\n"), std::string("add"), std::string("add  \n"),
        std::string("added /a"), std::string("rm /a"), std::string("add /a 0"),
        std::string("add /a 99999999999999999999999"), std::string("add /a 1000001"),
        "add /" + large, large, with_zero, std::string("\x1b[2J")}) {
    const auto parsed = parse_control(line);
    ASSERT_FALSE(parsed) << line.substr(0, 40);
    EXPECT_LT(parsed.error().message().size(), 300U);
    EXPECT_EQ(parsed.error().message().find('\x1b'), std::string::npos);
  }
}

TEST(log_text, commands_of_a_log) {
  EXPECT_EQ(parse_log_command("stop\n"), LogCommand::stop);
  EXPECT_EQ(parse_log_command(" start "), LogCommand::start);
  EXPECT_EQ(parse_log_command("reset"), LogCommand::reset);
  EXPECT_EQ(parse_log_command("timereset\n"), LogCommand::reset_time);
  EXPECT_FALSE(parse_log_command("restart"));
  EXPECT_FALSE(parse_log_command(""));
}

} // namespace
} // namespace iotrail::watch
