// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analysis/engine/test_engine.hpp"

namespace iotrail::analysis {
namespace {

// "1:10 3:5": the time of each set of things.
std::string overlaps_of(std::string_view values) {
  const golden::TestTrace trace("");
  const auto engine = open(trace);
  auto rows =
      engine->query(fmt::format("SELECT coalesce(string_agg(what || ':' || ns, ' ' ORDER BY what), "
                                "'') FROM (SELECT unnest(overlap_times("
                                "CAST(a AS UBIGINT), CAST(b AS UBIGINT), CAST(c AS UBIGINT)), "
                                "recursive := true) FROM (VALUES {}) AS v(a, b, c))",
                                values));
  EXPECT_TRUE(rows.has_value()) << rows.error().message();
  EXPECT_TRUE(rows->next().value());
  return std::string(std::get<std::string_view>(rows->row()[0]));
}

TEST(overlap_times, each_moment_counts_for_all_that_went_on) {
  EXPECT_EQ(overlaps_of("(10, 30, 1), (15, 20, 2), (18, 40, 4)"), "1:5 3:3 4:10 5:10 7:2");
}

TEST(overlap_times, the_same_thing_twice_lasts_until_the_last_ends) {
  EXPECT_EQ(overlaps_of("(10, 30, 1), (12, 20, 2), (15, 25, 2), (12, 13, 2)"), "1:7 3:13");
}

TEST(overlap_times, one_span_may_be_of_several_things) {
  EXPECT_EQ(overlaps_of("(10, 30, 5)"), "5:20");
  EXPECT_EQ(overlaps_of("(10, 30, 5), (20, 40, 4)"), "4:10 5:20");
}

TEST(overlap_times, a_row_without_a_span_adds_nothing) {
  EXPECT_EQ(overlaps_of("(NULL, 3, 1), (3, NULL, 1), (5, 6, NULL), (9, 9, 1), (20, 10, 1)"), "");
}

TEST(overlap_times, reaches_to_the_limits_of_the_numbers) {
  EXPECT_EQ(overlaps_of("(0, 18446744073709551615, 9223372036854775808), (7, 8, 1)"),
            "9223372036854775808:18446744073709551614 9223372036854775809:1");
}

// The rows of a group come from several threads of the engine, out of order, and mixed with other
// groups.
TEST(overlap_times, adds_up_to_the_time_in_which_anything_went_on_in_every_group) {
  const golden::TestTrace trace("");
  const auto engine = open(trace);
  auto rows = engine->query(R"(
    WITH
      spans AS (SELECT i % 7 AS kind, hash(i) % 10000000 AS from_ns, CAST(1 AS UBIGINT) << (i % 5) AS what,
                       hash(i) % 10000000 + hash(i + 1) % 50 AS until_ns FROM range(600000) AS r(i)),
      expected AS (SELECT kind, union_length(from_ns, until_ns) AS length,
                          union_length(from_ns, until_ns) FILTER (what = 4) AS length_of_4 FROM spans GROUP BY kind),
      times AS (SELECT kind, unnest(overlap_times(from_ns, until_ns, CAST(what AS UBIGINT)), recursive := true) FROM spans GROUP BY kind),
      actual AS (SELECT kind, sum(ns) AS length, sum(CASE WHEN what & 4 <> 0 THEN ns ELSE 0 END) AS length_of_4 FROM times GROUP BY kind)
    SELECT CAST(count(*) AS UBIGINT) FROM expected AS e
      JOIN actual AS a ON e.kind = a.kind AND e.length = a.length AND e.length_of_4 = a.length_of_4)");
  ASSERT_TRUE(rows.has_value()) << rows.error().message();
  ASSERT_TRUE(rows->next().value());
  EXPECT_EQ(std::get<std::uint64_t>(rows->row()[0]), 7U);
}

} // namespace
} // namespace iotrail::analysis
