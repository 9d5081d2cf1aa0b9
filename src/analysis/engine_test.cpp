// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "schema.hpp"
#include "test_trace.hpp"

namespace iotrail::analysis {
namespace {

std::unique_ptr<Engine> open(const golden::TestTrace& trace) {
  auto engine = Engine::open(trace.path());
  EXPECT_TRUE(engine.has_value()) << engine.error().message();
  return std::move(*engine);
}

// The only cell of the only row.
std::string answer(Engine& engine, std::string_view sql) {
  auto rows = engine.query(sql);
  if (!rows)
    return rows.error().message();
  const auto more = rows->next();
  if (!more || !*more)
    return "no row";
  std::string text;
  std::visit(
      [&](const auto& value) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          text = fmt::format("{}", value);
      },
      rows->row()[0]);
  return text;
}

TEST(engine, every_table_of_the_schema_can_be_selected_from) {
  const golden::TestTrace trace("");
  const auto engine = open(trace);
  for (const schema::Event& event : schema::kEvents) {
    auto rows = engine->query(fmt::format("SELECT * FROM {}()", event.name));
    ASSERT_TRUE(rows.has_value()) << rows.error().message();
    ASSERT_EQ(rows->columns().size(), event.fields.size()) << event.name;
    for (std::size_t i = 0; i < event.fields.size(); ++i)
      EXPECT_EQ(rows->columns()[i].name, event.fields[i].name);
    EXPECT_FALSE(*rows->next());
  }
}

TEST(engine, every_view_file_defines_a_view_of_its_name_and_documents_each_column) {
  const golden::TestTrace trace("");
  const auto engine = open(trace);
  ASSERT_GT(view_files().size(), 8U);
  for (const ViewFile& view : view_files()) {
    if (view.name.starts_with("00_"))
      continue;
    auto rows = engine->query(fmt::format("SELECT * FROM {}", view.name));
    ASSERT_TRUE(rows.has_value()) << rows.error().message();
    const std::string_view comment = view.sql.substr(0, view.sql.find("CREATE"));
    if (comment.contains("columns as in the view"))
      continue;
    for (const ResultColumn& column : rows->columns())
      EXPECT_TRUE(comment.contains(column.name)) << view.name << '.' << column.name;
  }
}

TEST(engine, all_rows_of_many_blocks_are_seen_once_by_any_number_of_threads) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += fmt::format("syscall_read ts_ns={} pid=1 result={} bytes_requested=4096\n{}", 1000 + i,
                        i, i % 7 == 0 ? "block\n" : "");
  const golden::TestTrace trace(text);
  for (const unsigned threads : {1U, 4U}) {
    auto engine = Engine::open(trace.path(), {threads, 0});
    ASSERT_TRUE(engine.has_value());
    EXPECT_EQ(answer(**engine, "SELECT count(*) FROM syscall_read"), "200");
    EXPECT_EQ(answer(**engine, "SELECT count(DISTINCT result) FROM syscall_read"), "200");
    EXPECT_EQ(answer(**engine, "SELECT CAST(sum(bytes) AS BIGINT) FROM events"), "19900");
  }
}

TEST(engine, columns_keep_their_types_at_the_limits) {
  const golden::TestTrace trace(
      "syscall_seek ts_ns=18446744073709551615 op_id=18446744073709551615 pid=4294967295 cpu=65535 "
      "offset=-9223372036854775808 result=-1 fd=-100 whence=SEEK_HOLE call=lseek\n");
  const auto engine = open(trace);
  const std::map<std::string, std::string> expected = {{"ts_ns", "18446744073709551615"},
                                                       {"op_id", "18446744073709551615"},
                                                       {"pid", "4294967295"},
                                                       {"cpu", "65535"},
                                                       {"\"offset\"", "-9223372036854775808"},
                                                       {"result", "-1"},
                                                       {"fd", "-100"},
                                                       {"whence", "SEEK_HOLE"},
                                                       {"call", "lseek"}};
  for (const auto& [column, value] : expected)
    EXPECT_EQ(answer(*engine, fmt::format("SELECT {} FROM syscall_seek", column)), value) << column;
}

TEST(engine, numbers_without_a_name_are_shown_as_numbers) {
  const golden::TestTrace trace(
      "syscall_read ts_ns=1 pid=1 call=4711\nsyscall_read ts_ns=2 call=0\n");
  const auto engine = open(trace);
  EXPECT_EQ(answer(*engine, "SELECT string_agg(call, ' ' ORDER BY ts_ns) FROM syscall_read"),
            "4711 read");
}

TEST(engine, a_result_can_be_left_before_its_end) {
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += fmt::format("syscall_read ts_ns={} pid=1\n", i + 1);
  const golden::TestTrace trace(text);
  const auto engine = open(trace);
  {
    auto rows = engine->query("SELECT a.ts_ns FROM syscall_read AS a, syscall_read AS b");
    ASSERT_TRUE(rows.has_value());
    EXPECT_TRUE(*rows->next());
  }
  EXPECT_EQ(answer(*engine, "SELECT count(*) FROM syscall_read"), "5000");
}

TEST(engine, a_directory_that_is_no_trace_is_refused) {
  const auto engine = Engine::open("/nonexistent.iotrail");
  ASSERT_FALSE(engine.has_value());
  EXPECT_FALSE(engine.error().message().empty());
}

void replace_in_manifest(const golden::TestTrace& trace, const std::string& what,
                         const std::string& by) {
  const auto path = trace.path() / "manifest.json";
  std::ifstream input(path);
  std::string text{std::istreambuf_iterator<char>(input), {}};
  ASSERT_TRUE(text.contains(what)) << what;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  std::ofstream(path, std::ios::trunc) << text;
}

TEST(engine, a_trace_of_another_version_is_read_by_its_own_schema) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7 bytes_requested=9 result=8\n");
  replace_in_manifest(trace, "\"syscall_read\"", "\"syscall_peruse\"");
  replace_in_manifest(trace, "\"tid u32 tid\"", "\"thread u32 tid\"");
  const auto engine = open(trace);
  EXPECT_EQ(answer(*engine, "SELECT thread FROM syscall_peruse"), "7");
  EXPECT_EQ(answer(*engine, "SELECT class || bytes || tid FROM events"), "peruse80");
  EXPECT_TRUE(answer(*engine, "SELECT * FROM syscall_read").contains("syscall_read"));
}

TEST(engine, a_view_that_does_not_fit_the_trace_is_the_only_thing_missing) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7 bytes_requested=9 result=8\n");
  replace_in_manifest(trace, "\"mode u32 mode\"", "\"access u32 mode\"");
  const auto engine = open(trace);
  EXPECT_EQ(answer(*engine, "SELECT bytes FROM layers"), "8");
  const auto refused = engine->query("SELECT * FROM amplification");
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().hint.contains("the view amplification")) << refused.error().message();
}

TEST(engine, names_in_a_foreign_trace_are_never_run_as_sql) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const std::string hostile = "x() AS y; CREATE TABLE planted (a INT); SELECT '1";
  replace_in_manifest(trace, "\"syscall_read\"", "\"" + hostile + "\"");
  replace_in_manifest(trace, "\"cpu u16 cpu\"", "\"c'\\\"pu u16 cpu\"");
  const auto engine = Engine::open(trace.path());
  ASSERT_TRUE(engine.has_value()) << engine.error().message();
  EXPECT_EQ(answer(**engine, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'planted'"),
            "0");
  EXPECT_EQ(answer(**engine, "SELECT count(*) FROM events"), "1");
}

} // namespace
} // namespace iotrail::analysis
