// SPDX-License-Identifier: BSD-3-Clause
#include "cli/sessions/sql_statements.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/output_file.hpp"

namespace iotrail::cli {
namespace {

std::vector<std::string> statements(std::string text) {
  const std::unique_ptr<std::FILE, FileCloser> file(::fmemopen(text.data(), text.size(), "r"));
  SqlStatements reader(file.get());
  std::vector<std::string> found;
  for (auto next = reader.next(); next && *next; next = reader.next())
    found.push_back(**next);
  return found;
}

using Texts = std::vector<std::string>;

TEST(sql_statements, end_with_a_semicolon_or_the_text) {
  EXPECT_EQ(statements("SELECT 1;SELECT 2"), (Texts{"SELECT 1", "SELECT 2"}));
  EXPECT_EQ(statements("SELECT\n1;\n"), (Texts{"SELECT\n1"}));
  EXPECT_EQ(statements(" ;; \n;"), Texts{});
}

TEST(sql_statements, keep_semicolons_of_quotes_and_comments) {
  EXPECT_EQ(statements("SELECT ';', 'it''s;'; SELECT 2"),
            (Texts{"SELECT ';', 'it''s;'", " SELECT 2"}));
  EXPECT_EQ(statements("SELECT \"a;b\" -- c;d\n; SELECT 2"),
            (Texts{"SELECT \"a;b\" -- c;d\n", " SELECT 2"}));
  EXPECT_EQ(statements("SELECT /* ; */ 1;"), (Texts{"SELECT /* ; */ 1"}));
}

TEST(sql_statements, are_more_than_comments) {
  EXPECT_EQ(statements("-- first\nSELECT 1; -- the end\n"), (Texts{"-- first\nSELECT 1"}));
  EXPECT_EQ(statements("/* a; b */ ; SELECT 1; /* c */"), (Texts{" SELECT 1"}));
}

TEST(sql_statements, are_bounded) {
  std::string endless(3U << 20U, 'x');
  const std::unique_ptr<std::FILE, FileCloser> file(
      ::fmemopen(endless.data(), endless.size(), "r"));
  EXPECT_FALSE(SqlStatements(file.get()).next());
}

} // namespace
} // namespace iotrail::cli
