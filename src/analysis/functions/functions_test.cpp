// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analysis/engine/test_engine.hpp"

namespace iotrail::analysis {
namespace {

TEST(folded_path, is_what_a_regular_expression_makes) {
  const golden::TestTrace trace("");
  const auto engine = open(trace);
  EXPECT_EQ(answer(*engine, "SELECT folded_path('/db-2/17.log.003')"), "/db-*/*.log.*");
  EXPECT_EQ(answer(*engine,
                   "SELECT count(*) || bool_and(folded_path(p) = regexp_replace(p, '[0-9]+', '*', "
                   "'g')) FROM (VALUES (''), ('1'), ('12'), ('a1b22c333'), ('1a2'), ('**1'), "
                   "('\u00e9\u0661 1\u00e9'), ('/tmp/x')) AS v(p)"),
            "8true");
  EXPECT_EQ(answer(*engine, "SELECT folded_path(NULL) IS NULL"), "true");
  EXPECT_EQ(answer(*engine, "SELECT count(*) FROM (VALUES ('a1'), (NULL), ('b')) AS v(p) "
                            "WHERE folded_path(p) IS NULL"),
            "1");
}

} // namespace
} // namespace iotrail::analysis
