// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/rule.hpp"

#include <gtest/gtest.h>

#include <set>

namespace iotrail::analysis {
namespace {

constexpr std::string_view kRule = "-- id: X1\n"
                                   "-- title: a title\n"
                                   "-- severity: warning\n"
                                   "-- needs: calls, block\n"
                                   "-- limit: calls = 10; fewer are no finding\n"
                                   "-- rows: block_issue >= $calls\n"
                                   "-- sentence: {subject} did\n"
                                   "--   too much.\n"
                                   "-- advice: Do less.\n"
                                   "SELECT 1 WHERE 1 >= $calls\n";

TEST(Rule, has_the_facts_of_its_comment) {
  const auto rule = parse_rule({"x", kRule});
  ASSERT_TRUE(rule.has_value()) << rule.error().message();
  EXPECT_EQ(rule->id, "X1");
  EXPECT_EQ(rule->severity, FindingSeverity::warning);
  EXPECT_EQ(rule->needs, (std::vector<std::string>{"calls", "block"}));
  EXPECT_EQ(rule->sentence, "{subject} did too much.");
  ASSERT_EQ(rule->limits.size(), 1U);
  EXPECT_EQ(rule->limits.front().value, 10);
  EXPECT_EQ(rule->limits.front().meaning, "fewer are no finding");
}

TEST(Rule, takes_the_limits_of_the_session) {
  const auto rule = parse_rule({"x", kRule});
  ASSERT_TRUE(rule.has_value());
  EXPECT_TRUE(rule_view_sql(*rule, {}).contains("1 >= CAST(10 AS DOUBLE)"));
  EXPECT_TRUE(rule_view_sql(*rule, {{"X1.calls", 3}}).contains("1 >= CAST(3 AS DOUBLE)"));
  EXPECT_TRUE(rule_view_sql(*rule, {}).starts_with("CREATE VIEW finding_x AS"));
}

TEST(Rule, finds_nothing_with_too_few_rows) {
  const auto rule = parse_rule({"x", kRule});
  ASSERT_TRUE(rule.has_value());
  const auto is_short = [&](std::uint64_t calls, std::uint64_t issues, const Limits& limits) {
    return has_too_few_rows(
        *rule, limits, [&](std::string_view of) { return of == "block_issue" ? issues : calls; });
  };
  EXPECT_FALSE(is_short(1, 10, {}));
  EXPECT_TRUE(is_short(1, 9, {}));
  EXPECT_FALSE(is_short(1, 9, {{"X1.calls", 9}}));
  EXPECT_TRUE(is_short(0, 10, {})); // it needs some
}

TEST(Rule, with_a_line_outside_the_grammar_is_refused) {
  for (const std::string_view line :
       {"-- colour: red\n", "-- severity: bad\n", "-- limit: calls = many; no number\n",
        "-- limit: calls = 1\n", "-- id:\n", "-- rows: calls >= $unknown\n",
        "-- rows: >= $calls\n"})
    EXPECT_FALSE(parse_rule({"x", std::string(line) + std::string(kRule)}).has_value()) << line;
  EXPECT_FALSE(parse_rule({"x", kRule.substr(kRule.find('\n') + 1)}).has_value())
      << "without an id";
}

TEST(FindingRules, all_are_whole_and_have_ids_of_their_own) {
  std::set<std::string> ids;
  for (const RuleFile& file : rule_files()) {
    const auto rule = parse_rule(file);
    ASSERT_TRUE(rule.has_value()) << rule.error().message();
    EXPECT_TRUE(ids.insert(rule->id).second) << rule->id;
  }
  EXPECT_EQ(finding_rules().size(), ids.size());
}

TEST(FindingLimits, are_taken_by_name_and_value) {
  Limits limits;
  EXPECT_TRUE(add_limit("F01.calls=500", limits).has_value());
  EXPECT_EQ(limits.at("F01.calls"), 500);
  for (const std::string_view text :
       {"F01.calls", "F01.calls=", "F01.calls=-1", "F01.calls=nan", "F01.calls=inf",
        "F01.calls=1e400", "F01.calls=1 OR 1", "F99.calls=1", "=1", ""})
    EXPECT_FALSE(add_limit(text, limits).has_value()) << text;
  const auto near = add_limit("F01.cals=1", limits);
  ASSERT_FALSE(near.has_value());
  EXPECT_TRUE(near.error().hint.contains("F01.calls"));
}

} // namespace
} // namespace iotrail::analysis
