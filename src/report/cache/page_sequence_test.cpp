// SPDX-License-Identifier: BSD-3-Clause
#include "report/cache/page_sequence.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>

#include "report/cache/cache_report.hpp"
#include "test_trace.hpp"

namespace iotrail::output {
namespace {

std::string read_statement(unsigned number, const std::string& file, std::uint64_t offset,
                           std::uint64_t bytes) {
  return fmt::format("syscall_read ts_ns={0} op_id={0} duration_ns=1 file={1} offset={2} "
                     "bytes_requested={3} result={3} call=pread64\n",
                     number, file, offset, bytes);
}

std::unique_ptr<analysis::Engine> engine_of(const golden::TestTrace& trace) {
  auto engine = analysis::Engine::open(trace.path(), cache_engine_options({}));
  EXPECT_TRUE(engine) << engine.error().message();
  return std::move(*engine);
}

TEST(PageSequence, ends_at_the_limit_of_accesses_and_counts_the_rest) {
  std::string text;
  for (unsigned i = 1; i <= 9; ++i)
    text += read_statement(i, "/a", 0, 8192);
  const golden::TestTrace trace(text);
  const auto engine = engine_of(trace);
  std::uint64_t visited = 0;
  PageSequence sequence(*engine, "", {.accesses = 7});
  const auto tally = sequence.read([&](analysis::Page, bool) { ++visited; });
  ASSERT_TRUE(tally) << tally.error().message();
  EXPECT_EQ(visited, 6U);
  EXPECT_EQ(tally->calls, 3U);
  EXPECT_EQ(tally->calls_left_out, 6U);
  EXPECT_EQ(tally->impossible, 0U);
}

TEST(PageSequence, leaves_out_what_no_kernel_reports) {
  const golden::TestTrace trace(
      read_statement(1, "/a", 4095, 2) + read_statement(2, "/a", 0, 1ULL << 40U) +
      read_statement(3, "/a", INT64_MAX, 10) + read_statement(4, "/b", 0, 1));
  const auto engine = engine_of(trace);
  std::set<analysis::Page> pages;
  PageSequence sequence(*engine, "");
  for (int again = 0; again < 2; ++again) { // the same pages have the same numbers
    const auto tally = sequence.read([&](analysis::Page page, bool is_read) {
      EXPECT_TRUE(is_read);
      pages.insert(page);
    });
    ASSERT_TRUE(tally);
    EXPECT_EQ(tally->impossible, 2U);
    EXPECT_EQ(tally->things, 2U);
    EXPECT_EQ(pages.size(), 3U);
  }
}

} // namespace
} // namespace iotrail::output
