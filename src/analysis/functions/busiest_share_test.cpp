// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analysis/engine/test_engine.hpp"

namespace iotrail::analysis {
namespace {

std::string share_of(std::string_view values) {
  const golden::TestTrace trace("");
  return answer(*open(trace),
                fmt::format("SELECT busiest_share(CAST(a AS UBIGINT), CAST(b AS UBIGINT), "
                            "CAST(w AS UBIGINT)) FROM (VALUES {}) AS v(a, b, w)",
                            values));
}

TEST(busiest_share, is_of_the_busiest_window_and_not_of_all_time) {
  EXPECT_EQ(share_of("(0, 1, 10), (1000, 1004, 10), (1005, 1009, 10)"), "0.8");
}

TEST(busiest_share, a_span_that_leaves_the_window_counts_up_to_its_end) {
  EXPECT_EQ(share_of("(100, 104, 10), (108, 200, 10)"), "1");
  EXPECT_EQ(share_of("(100, 104, 10), (108, 113, 10)"), "0.6");
}

TEST(busiest_share, spans_at_the_same_time_count_once_in_any_order) {
  EXPECT_EQ(share_of("(105, 108, 10), (100, 106, 10), (100, 106, 10)"), "0.8");
}

TEST(busiest_share, of_nothing_is_zero) {
  EXPECT_EQ(share_of("(NULL, 20, 10), (30, 30, 10)"), "0");
  EXPECT_EQ(share_of("(10, 20, 0)"), "0");
}

TEST(busiest_share, reaches_to_the_ends_of_what_a_number_holds) {
  EXPECT_EQ(share_of("(18446744073709551600, 18446744073709551615, 30)"), "0.5");
}

// Each begin of a span is tried as the begin of the window, in SQL.
TEST(busiest_share, agrees_with_a_search_by_sql) {
  const golden::TestTrace trace("");
  EXPECT_EQ(answer(*open(trace), R"(
    WITH
      spans AS (SELECT hash(i) % 100000 AS f, hash(i) % 100000 + hash(i + 7) % 90 AS u FROM range(600) AS r(i)),
      inside AS (SELECT w.f AS begin_at, union_length(greatest(s.f, w.f), least(s.u, w.f + 1000)) AS covered
                 FROM spans AS w JOIN spans AS s ON s.f < w.f + 1000 AND s.u > w.f GROUP BY w.f)
    SELECT abs((SELECT max(covered) / 1000 FROM inside) - (SELECT busiest_share(f, u, CAST(1000 AS UBIGINT)) FROM spans)) < 1e-9)"),
            "true");
}

} // namespace
} // namespace iotrail::analysis
