// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tasks/process_stat.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/clock.hpp"

namespace iotrail::capture {
namespace {

std::string stat_text(const std::string& name) {
  return "7 (" + name +
         ") D 3 7 7 0 -1 4194304 100 0 12 0 250 50 0 0 20 0 4 0 1000 8192 2 18446744073709551615"
         " 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 33 0 0\n";
}

TEST(ProcessStat, numbers_are_where_the_kernel_writes_them) {
  const auto stat = parse_process_stat(stat_text("cat"));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'D');
  EXPECT_EQ(stat->name, "cat");
  EXPECT_EQ(stat->parent, 3U);
  EXPECT_EQ(stat->threads, 4U);
  EXPECT_EQ(stat->major_faults, 12U);
  EXPECT_EQ(stat->virtual_bytes, 8192U);
  const auto tick_ns = 1'000'000'000U / static_cast<unsigned long>(sysconf(_SC_CLK_TCK));
  EXPECT_EQ(stat->user_ns, 250 * tick_ns);
  EXPECT_EQ(stat->system_ns, 50 * tick_ns);
  EXPECT_EQ(stat->block_io_ns, 33 * tick_ns);
}

TEST(ProcessStat, a_name_may_hold_anything) {
  for (const std::string name : {") R 1 1", "a) b (c", "x\ny", "", "((", "))"}) {
    const auto stat = parse_process_stat(stat_text(name));
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->name, name);
    EXPECT_EQ(stat->parent, 3U);
  }
}

TEST(ProcessStat, truncated_or_invalid_text_is_none_or_zeros) {
  for (const std::string text : {"", "7", "7 (cat", "7 (cat)", "7 (cat) ", ")("})
    EXPECT_FALSE(parse_process_stat(text)) << text;
  const auto cut = parse_process_stat("7 (cat) S 3 x y");
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->parent, 3U);
  EXPECT_EQ(cut->threads, 0U);
}

TEST(ProcessStat, this_process_started_before_now) {
  std::ifstream file("/proc/self/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto stat = parse_process_stat(text);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, static_cast<iot_u32>(::getppid()));
  EXPECT_GT(stat->start_ns, 0U);
  EXPECT_LT(stat->start_ns, monotonic_ns());
}

} // namespace
} // namespace iotrail::capture
