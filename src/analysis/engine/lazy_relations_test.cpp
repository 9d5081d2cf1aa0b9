// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/lazy_relations.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace iotrail::analysis {
namespace {

using Names = std::vector<std::string>;

Names taken_names(const std::vector<LazyRelations::Definition>& taken) {
  Names names;
  for (const LazyRelations::Definition& definition : taken)
    names.push_back(definition.what);
  return names;
}

LazyRelations small_set() {
  LazyRelations definitions;
  definitions.add("base", "CREATE TABLE base (x INTEGER);\nINSERT INTO base VALUES (1);");
  definitions.add(
      "pair",
      "CREATE VIEW left_one AS FROM base; -- not other\nCREATE VIEW right_one AS FROM \"base\"");
  definitions.add("top", "CREATE VIEW top AS SELECT 'other' FROM Left_One");
  definitions.add("other", "CREATE VIEW other AS SELECT base() AS y");
  return definitions;
}

TEST(definitions, relations_of_a_statement_are_made_once_after_their_own_relations) {
  LazyRelations definitions = small_set();
  EXPECT_EQ(taken_names(definitions.take_for("SELECT * FROM \"Top\"")),
            (Names{"base", "pair", "top"}));
  EXPECT_EQ(taken_names(definitions.take_for("FROM right_one, top, other")), Names{"other"});
  EXPECT_TRUE(definitions.take_all().empty());
}

TEST(definitions, strings_comments_and_calls_name_nothing) {
  LazyRelations definitions = small_set();
  EXPECT_TRUE(definitions.take_for("SELECT 'top', base(1) -- other\n").empty());
  EXPECT_EQ(names_in("SELECT a.\"B\"\"c\", 'it''s' FROM f (x) -- y"),
            (Names{"select", "a", "b", "c", "from", "x"}));
}

TEST(definitions, statements_without_an_end_are_read_to_theirs) {
  for (const char* sql : {"'", "\"", "SELECT '", "FROM \"top", "--", "'a''", "\"\""})
    EXPECT_NO_FATAL_FAILURE(names_in(sql)) << sql;
  EXPECT_EQ(names_in("FROM \"top"), (Names{"from", "top"}));
}

TEST(definitions, a_statement_that_lists_relations_is_known) {
  for (const char* sql : {"SHOW TABLES", "DESCRIBE", "desc", "desc;", "FROM (DESCRIBE)",
                          "DESCRIBE tables", "FROM information_schema.tables",
                          "SELECT * FROM DuckDB_Views()", "FROM pg_catalog.pg_class"})
    EXPECT_TRUE(lists_relations(sql)) << sql;
  for (const char* sql :
       {"FROM base ORDER BY x DESC", "DESCRIBE base", "desc FROM base", "FROM (DESCRIBE SELECT 1)"})
    EXPECT_FALSE(lists_relations(sql)) << sql;
}

TEST(definitions, only_what_is_read_or_called_is_a_reference) {
  const auto references = [](const char* sql) {
    Names names = references_in(sql);
    for (const char* word : {"as(", "from(", "in(", "materialized(", "using("})
      std::erase(names, word);
    std::ranges::sort(names);
    return names;
  };
  EXPECT_EQ(references("SELECT base, top AS other FROM \"Pair\" AS left_one"), Names{"pair"});
  EXPECT_EQ(references("DESCRIBE a"), Names{"a"});
  EXPECT_EQ(references("desc a"), Names{"a"});
  EXPECT_EQ(
      references("SELECT 1 FROM a AS x, (SELECT z, y FROM b) AS c, d ASOF LEFT JOIN e ON x.f = g"),
      (Names{"a", "b", "d", "e"}));
  EXPECT_EQ(
      references("SELECT x IN (SELECT y, top FROM b WHERE c), z FROM (d JOIN e USING (f, g))"),
      (Names{"b", "d", "e"}));
  EXPECT_EQ(references("SELECT total(x, pair) FROM losses() JOIN f ON minus(a, top)"),
            (Names{"f", "losses(", "minus(", "total("}));
  EXPECT_EQ(
      references(
          "WITH a AS (FROM b), c AS MATERIALIZED (FROM a), d AS NOT MATERIALIZED (FROM c) FROM d"),
      Names{"b"});
  EXPECT_EQ(references("SUMMARIZE a"), Names{"a"});
  EXPECT_EQ(references("CREATE MACRO step(x) AS (SELECT y FROM parts)"), (Names{"parts", "step("}));
  for (const char* sql :
       {")", "FROM (", "AS (", "FROM a, ,", "MATERIALIZED (", "NOT MATERIALIZED ("})
    EXPECT_NO_FATAL_FAILURE(references_in(sql)) << sql;
}

TEST(definitions, each_statement_of_a_file_is_made_alone) {
  LazyRelations definitions;
  const std::string kept[] = {"small"};
  definitions.add_file(
      "-- a; comment\nCREATE TABLE rows (x VARCHAR);\nINSERT INTO rows VALUES (';');\n"
      "CREATE MACRO twice(x) AS x + (SELECT y FROM small);\n"
      "CREATE VIEW small AS SELECT 1 AS y;\nCREATE VIEW large AS SELECT twice(1);\n",
      kept);
  const auto taken = definitions.take_for("FROM large");
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_TRUE(taken[0].sql.contains("CREATE TABLE small AS"));
  EXPECT_TRUE(taken[0].fallback_sql.contains("CREATE VIEW small AS"));
  EXPECT_TRUE(taken[1].sql.contains("CREATE MACRO twice(x)"));
  EXPECT_TRUE(taken[2].sql.contains("CREATE VIEW large"));
  const auto rest = definitions.take_all();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_TRUE(rest[0].sql.contains("INSERT INTO rows VALUES (';')"));
}

TEST(definitions, what_is_computed_only_when_it_is_read_has_a_fallback) {
  LazyRelations definitions;
  definitions.add("few", "CREATE TABLE few AS SELECT 1", "CREATE VIEW few AS SELECT 1");
  const auto taken = definitions.take_all(true);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_TRUE(taken[0].sql.starts_with("CREATE VIEW"));
}

TEST(definitions, the_first_definition_of_a_name_stays) {
  LazyRelations definitions = small_set();
  definitions.add("forged", "CREATE VIEW \"top\" AS SELECT 1");
  EXPECT_EQ(taken_names(definitions.take_all()), (Names{"base", "pair", "top", "other"}));
}

} // namespace
} // namespace iotrail::analysis
