// SPDX-License-Identifier: BSD-3-Clause
#include "reference/sql_reference.hpp"

#include <gtest/gtest.h>

#include "analysis/engine/sql_text.hpp"
#include "report/small_result.hpp"
#include "test_trace.hpp"

namespace iotrail::output {
namespace {

TEST(sql_reference, has_the_meaning_of_each_column) {
  const golden::TestTrace trace("manifest command=\"true\"\n");
  auto engine = analysis::Engine::open(trace.path());
  ASSERT_TRUE(engine.has_value()) << engine.error().message();
  const std::vector<Relation> relations = sql_relations();
  for (const Relation& relation : relations) {
    if (relation.kind == RelationKind::function)
      continue;
    const auto columns =
        SmallResult::query(**engine, "DESCRIBE FROM " + analysis::sql_name(relation.name));
    ASSERT_TRUE(columns.has_value()) << columns.error().message();
    for (std::size_t row = 0; row < columns->size(); ++row) {
      const std::string column = columns->text(row, "column_name");
      EXPECT_NE(column_doc(relations, relation, column), "") << relation.name << "." << column;
    }
  }
}

} // namespace
} // namespace iotrail::output
