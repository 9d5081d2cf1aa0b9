// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "report/profile/calibration.hpp"
#include "report/section.hpp"

namespace iotrail::output {
namespace {

TEST(calibration, spread_of_one_value_has_no_deviation) {
  const Spread spread = spread_of({7});
  EXPECT_EQ(spread.least, 7);
  EXPECT_EQ(spread.most, 7);
  EXPECT_EQ(spread.mean, 7);
  EXPECT_EQ(spread.median, 7);
  EXPECT_EQ(spread.deviation, 0);
}

TEST(calibration, spread_is_that_of_a_sample) {
  const Spread spread = spread_of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(spread.least, 2);
  EXPECT_EQ(spread.most, 9);
  EXPECT_EQ(spread.mean, 5);
  EXPECT_EQ(spread.median, 4.5);
  EXPECT_NEAR(spread.deviation, 2.1380899, 1e-6); // sqrt(32 / 7)
}

TEST(calibration, a_run_without_a_measure_is_no_value_of_it) {
  const MeasureKey bytes{2, "syscall", "read", 1};
  const MeasureKey random{2, "syscall", "read", 6};
  const Section section =
      calibration_section({{.trace = "a", .values = {{bytes, 10}, {random, 0.5}}},
                           {.trace = "b", .values = {{bytes, 30}}}});
  ASSERT_EQ(section.rows.size(), 2U);
  const SectionRows rows(section);
  EXPECT_EQ(rows.text(0, "measure"), "bytes");
  EXPECT_EQ(rows.number(0, "runs"), 2U);
  EXPECT_EQ(rows.real(0, "mean"), 20);
  EXPECT_EQ(rows.text(1, "measure"), "random_share");
  EXPECT_EQ(rows.number(1, "runs"), 1U);
}

} // namespace
} // namespace iotrail::output
