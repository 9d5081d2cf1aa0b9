// SPDX-License-Identifier: BSD-3-Clause
#include "reference/frozen.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "analysis/engine/duckdb_library.hpp"
#include "analysis/engine/engine.hpp"
#include "reference/schema_print.hpp"
#include "schema.hpp"
#include "text/text_width.hpp"

namespace iotrail::output {
namespace {

TEST(frozen, a_new_field_at_the_end_of_an_event_breaks_nothing) {
  const std::string old = "event 0x0201 a\nfield a 0 x u32 pid\n";
  const std::string now = old + "field a 1 y u32 pid\n";
  EXPECT_TRUE(broken_promises(old, now).empty());
  EXPECT_EQ(new_promises(old, now), std::vector<std::string>{"field a 1 y u32 pid"});
}

TEST(frozen, a_field_put_before_others_is_found) {
  EXPECT_EQ(broken_promises("field a 0 x u32 pid\n", "field a 0 y u32 pid\nfield a 1 x u32 pid\n"),
            std::vector<std::string>{"field a 0 x u32 pid"});
}

TEST(frozen, a_changed_type_or_a_removed_line_is_found) {
  EXPECT_EQ(
      broken_promises("field a 0 x u32 pid\ncounter 1 c kernel loss\n", "field a 0 x u64 pid\n")
          .size(),
      2U);
}

TEST(schema_print, every_event_field_and_counter_is_in_every_form) {
  const std::string text = schema_text();
  const std::string markdown = schema_markdown();
  const std::string sql = schema_sql();
  const auto json = nlohmann::json::parse(schema_json());
  ASSERT_EQ(json["events"].size(), std::size(schema::kEvents));
  for (std::size_t i = 0; i < std::size(schema::kEvents); ++i) {
    const schema::Event& event = schema::kEvents[i];
    EXPECT_EQ(json["events"][i]["fields"].size(), event.fields.size());
    for (const std::string_view form :
         {std::string_view(text), std::string_view(markdown), std::string_view(sql)})
      EXPECT_TRUE(form.contains(event.name)) << event.name;
  }
  for (const schema::Counter& counter : schema::kCounters) {
    EXPECT_TRUE(text.contains(counter.name));
    EXPECT_TRUE(markdown.contains(counter.name));
  }
}

TEST(schema_print, the_text_fits_a_terminal) {
  std::istringstream text(schema_text());
  for (std::string line; std::getline(text, line);)
    EXPECT_TRUE(display_width(line) <= kPlainWidth) << line;
}

TEST(schema_print, the_sql_is_sql) {
  ASSERT_TRUE(analysis::load_duckdb().has_value());
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  ASSERT_EQ(duckdb_open(nullptr, &database), DuckDBSuccess);
  ASSERT_EQ(duckdb_connect(database, &connection), DuckDBSuccess);
  duckdb_result result{};
  EXPECT_EQ(duckdb_query(connection, schema_sql().c_str(), &result), DuckDBSuccess)
      << duckdb_result_error(&result);
  duckdb_destroy_result(&result);
  duckdb_disconnect(&connection);
  duckdb_close(&database);
}

} // namespace
} // namespace iotrail::output
