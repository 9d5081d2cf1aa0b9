// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/lazy_relations.hpp"

#include <gtest/gtest.h>

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

TEST(definitions, a_statement_that_lists_relations_needs_all) {
  for (const char* sql : {"SHOW TABLES", "DESCRIBE", "desc", "FROM information_schema.tables",
                          "SELECT * FROM DuckDB_Views()", "FROM pg_catalog.pg_class"})
    EXPECT_EQ(small_set().take_for(sql).size(), 4U) << sql;
  EXPECT_EQ(small_set().take_for("FROM base ORDER BY x DESC").size(), 1U);
}

TEST(definitions, the_first_definition_of_a_name_stays) {
  LazyRelations definitions = small_set();
  definitions.add("forged", "CREATE VIEW \"top\" AS SELECT 1");
  EXPECT_EQ(taken_names(definitions.take_all()), (Names{"base", "pair", "top", "other"}));
}

} // namespace
} // namespace iotrail::analysis
