// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analysis/engine/test_engine.hpp"

namespace iotrail::analysis {
namespace {

std::uint64_t number(Engine& engine, std::string_view sql) {
  auto rows = engine.query(sql);
  EXPECT_TRUE(rows.has_value()) << rows.error().message();
  EXPECT_TRUE(rows->next().value());
  return std::get<std::uint64_t>(rows->row()[0]);
}

std::uint64_t length_of(std::string_view values) {
  const golden::TestTrace trace("");
  return number(
      *open(trace),
      fmt::format(
          "SELECT union_length(CAST(a AS UBIGINT), CAST(b AS UBIGINT)) FROM (VALUES {}) AS v(a, b)",
          values));
}

TEST(union_length, time_that_spans_share_counts_once) {
  EXPECT_EQ(length_of("(10, 20), (15, 30), (16, 18), (40, 41)"), 21);
}

TEST(union_length, the_order_of_rows_does_not_matter) {
  EXPECT_EQ(length_of("(40, 41), (16, 18), (15, 30), (10, 20)"), 21);
}

TEST(union_length, spans_that_touch_are_one) {
  EXPECT_EQ(length_of("(10, 20), (20, 30), (30, 30)"), 20);
}

TEST(union_length, a_row_without_a_span_adds_nothing) {
  EXPECT_EQ(length_of("(NULL, 20), (10, NULL), (20, 10), (5, 5), (1, 3)"), 2);
}

TEST(union_length, of_no_rows_is_zero) {
  const golden::TestTrace trace("");
  EXPECT_EQ(number(*open(trace), "SELECT union_length(ts_ns, ts_ns) FROM syscall_read"), 0);
}

TEST(union_length, reaches_to_the_limits_of_a_number) {
  EXPECT_EQ(length_of("(0, 18446744073709551615), (7, 9)"), 18446744073709551615U);
}

// The rows of a group come from several threads of the engine, out of order, and mixed with other
// groups.
TEST(union_length, agrees_with_a_running_maximum_in_every_group) {
  const golden::TestTrace trace("");
  EXPECT_EQ(number(*open(trace), R"(
    WITH
      spans AS (SELECT i % 7 AS kind, hash(i) % 10000000 AS from_ns,
                       hash(i) % 10000000 + hash(i + 1) % 50 AS until_ns FROM range(600000) AS r(i)),
      ordered AS (SELECT *, max(until_ns) OVER (PARTITION BY kind ORDER BY from_ns, until_ns
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered FROM spans),
      expected AS (SELECT kind, sum(until_ns - least(until_ns, greatest(from_ns, coalesce(covered, 0)))) AS length
                   FROM ordered GROUP BY kind),
      actual AS (SELECT kind, union_length(from_ns, until_ns) AS length FROM spans GROUP BY kind)
    SELECT CAST(count(*) AS UBIGINT) FROM expected AS e JOIN actual AS a ON e.kind = a.kind AND e.length = a.length)"),
            7);
}

} // namespace
} // namespace iotrail::analysis
