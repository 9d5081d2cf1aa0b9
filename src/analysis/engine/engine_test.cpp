// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/engine.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "analysis/engine/test_engine.hpp"
#include "schema.hpp"
#include "test_trace.hpp"
#include "trail/state/link.hpp"

namespace iotrail::analysis {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& text, const std::regex& quoted) {
  Words words;
  for (std::sregex_iterator at(text.begin(), text.end(), quoted), end; at != end; ++at)
    words.push_back((*at)[1]);
  return words;
}

// The values that a statement compares the column `cause` with.
Words causes_named_in(const std::string& sql) {
  static const std::regex kComparisons(
      R"(\bcause (?:=|<>|IN|NOT IN) (?:'\w+'|\([^)]*\))|CASE (?:\w\.)?cause [^;]*?END)");
  static const std::regex kWord(R"('(\w+)')");
  static const std::regex kWhen(R"(WHEN '(\w+)')");
  Words causes;
  for (std::sregex_iterator at(sql.begin(), sql.end(), kComparisons), end; at != end; ++at) {
    const std::string text = at->str();
    for (std::string& word : words_of(text, text.starts_with("CASE") ? kWhen : kWord))
      causes.push_back(std::move(word));
  }
  return causes;
}

TEST(engine, every_table_of_the_schema_can_be_selected_from) {
  const golden::TestTrace trace("");
  const auto engine = open(trace);
  for (const schema::Event& event : schema::kEvents) {
    auto rows = engine->query(fmt::format("SELECT * FROM {}()", event.name));
    ASSERT_TRUE(rows.has_value()) << rows.error().message();
    ASSERT_EQ(rows->columns().size(), event.fields.size()) << event.name;
    for (std::size_t i = 0; i < event.fields.size(); ++i)
      EXPECT_EQ(rows->columns()[i].name, schema::column_name(event.fields[i].name));
    EXPECT_FALSE(*rows->next());
  }
}

TEST(engine, no_column_of_a_table_needs_quotes) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const auto engine = open(trace);
  for (const schema::Event& event : schema::kEvents)
    for (const schema::Field& field : event.fields) {
      auto rows = engine->query(
          fmt::format("SELECT {} FROM {}", schema::column_name(field.name), event.name));
      EXPECT_TRUE(rows.has_value()) << rows.error().message();
    }
}

TEST(engine, a_selection_narrows_down_all_views) {
  const golden::TestTrace trace(
      "manifest begin_ns=1000 end_ns=9000 layers=syscall\n"
      "processes since_ns=1 pid=7 comm=one\nprocesses since_ns=1 pid=8 comm=two\n"
      "syscall_read ts_ns=2000 pid=7 file=/a/x duration_ns=5 result=8\n"
      "syscall_read ts_ns=3000 pid=8 file=/a/y duration_ns=5 result=8\n"
      "syscall_stat ts_ns=4000 pid=8 path=/a/z fd=-100 duration_ns=5\n"
      "syscall_copy ts_ns=5000 pid=7 in_file=/b out_file=/a/y duration_ns=5 result=8\n"
      "async_operation ts_ns=2100 op_id=1 pid=7 file=/a/x duration_ns=5 call=IORING_OP_READ\n"
      "async_operation ts_ns=3100 op_id=2 pid=8 file=/a/y duration_ns=5 call=IORING_OP_READ\n"
      "fs_lock ts_ns=2200 tid=7 pid=7 file=/a/x duration_ns=5 wait_ns=5 lock=F_WRLCK\n"
      "fs_lock ts_ns=3200 tid=8 pid=8 file=/a/y duration_ns=5 wait_ns=5 lock=F_WRLCK\n"
      "fs_rpc ts_ns=2300 tid=7 pid=7 file=/a/x duration_ns=5 server=x\n"
      "fs_rpc ts_ns=3300 tid=8 pid=8 file=/a/y duration_ns=5 server=y\n"
      "block_complete ts_ns=2400 pid=7 file=/a/x duration_ns=5 bytes=512 flags=read device=8:0\n"
      "block_complete ts_ns=3400 pid=8 file=/a/y duration_ns=5 bytes=512 flags=write device=8:0\n");
  const std::pair<Selection, std::string> cases[] = {
      {{}, "/a/x,/a/y,/a/z,/b"},          {{.process = "two"}, "/a/y,/a/z"},
      {{.process = "7"}, "/a/x,/a/y,/b"}, {{.file = "*/y"}, "/a/y,/b"},
      {{.file = "/a/z"}, "/a/z"},         {{.since_ns = 2000, .until_ns = 3500}, "/a/y,/a/z"},
  };
  for (const auto& [selection, paths] : cases) {
    auto engine = Engine::open(trace.path(), {.selection = selection});
    ASSERT_TRUE(engine.has_value()) << engine.error().message();
    EXPECT_EQ(answer(**engine, "SELECT string_agg(path, ',' ORDER BY path) FROM top_files"), paths);
    const std::string has_x = paths.contains("/a/x") ? "1" : "0";
    EXPECT_EQ(answer(**engine, "SELECT count(*) FROM async_phases WHERE op_id = 1"), has_x);
    EXPECT_EQ(answer(**engine, "SELECT count(*) FROM lock_waits WHERE path = '/a/x'"), has_x);
    EXPECT_EQ(answer(**engine, "SELECT count(*) FROM server_calls WHERE server = 'x'"), has_x);
    EXPECT_EQ(answer(**engine, "SELECT count(*) FROM top_devices WHERE operation = 'read'"), has_x);
  }
}

TEST(engine, a_file_is_selected_by_its_name_at_the_time) {
  const golden::TestTrace trace(
      "syscall_open ts_ns=10 op_id=1 pid=7 duration_ns=1 file=/d/new path=/d/new result=3\n"
      "syscall_write ts_ns=20 op_id=2 pid=7 duration_ns=1 file=/d/new result=7\n"
      "syscall_rename ts_ns=30 op_id=3 pid=7 duration_ns=1 path=/d/new new_path=/d/log\n"
      "syscall_write ts_ns=40 op_id=4 pid=7 duration_ns=1 file=/d/new result=5\n");
  for (const auto& [file, bytes] : {std::pair("/d/new", "7"), {"/d/log", "5"}, {"/d/*", "12"}}) {
    auto engine = Engine::open(trace.path(), {.selection = {.file = file}});
    ASSERT_TRUE(engine.has_value()) << engine.error().message();
    EXPECT_EQ(answer(**engine, "SELECT sum(bytes_written) FROM top_files"), bytes) << file;
  }
}

TEST(engine, missing_rows_are_losses) {
  const golden::TestTrace trace("syscall_read ts_ns=10 pid=7 result=7\nblock\n"
                                "syscall_read ts_ns=20 pid=7 result=7\n"
                                "damage table=syscall_read\n");
  auto engine = Engine::open(trace.path());
  ASSERT_TRUE(engine.has_value()) << engine.error().message();
  EXPECT_EQ(answer(**engine, "SELECT counter || ' ' || events || ' ' || severity FROM losses"),
            "store_block_damaged 1 loss");
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
    const std::size_t definition = view.sql.find(fmt::format("CREATE VIEW {}", view.name));
    const std::string_view comment = view.sql.substr(0, std::min(definition, view.sql.size()));
    if (comment.contains("columns as in the view"))
      continue;
    for (const ResultColumn& column : rows->columns())
      EXPECT_TRUE(comment.contains(column.name)) << view.name << '.' << column.name;
  }
}

// A misspelt cause would match nothing, and its bytes would be missing.
TEST(engine, views_name_only_causes_that_there_are) {
  std::set<std::string_view> causes;
  for (unsigned number = 0; number <= static_cast<unsigned>(trail::kLastCause); ++number)
    causes.insert(trail::cause_name(static_cast<trail::Cause>(number)));
  std::set<std::string> named;
  for (const ViewFile& view : view_files())
    for (const std::string& cause : causes_named_in(std::string(view.sql))) {
      EXPECT_TRUE(causes.contains(cause)) << view.name << ": " << cause;
      named.insert(cause);
    }
  for (const char* cause : {"rounding", "direct", "mapped_read", "read_ahead"})
    EXPECT_TRUE(named.contains(cause)) << cause << " was not found in the views";
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
                                                       {"position", "-9223372036854775808"},
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

TEST(engine, a_trace_of_another_version_is_read_by_its_own_schema) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7 bytes_requested=9 result=8\n");
  replace_in_manifest(trace, "\"syscall_read\"", "\"syscall_peruse\"");
  replace_in_manifest(trace, "\"tid u32 tid\"", "\"thread u32 tid\"");
  const auto engine = open(trace);
  EXPECT_EQ(answer(*engine, "SELECT thread FROM syscall_peruse"), "7");
  EXPECT_EQ(answer(*engine, "SELECT class || bytes || tid FROM events"), "peruse80");
  EXPECT_EQ(answer(*engine, "SELECT count(*) FROM syscall_read"), "0"); // not in the trace
}

TEST(engine, a_column_that_the_trace_is_too_old_to_have_is_null_and_the_views_stand) {
  const golden::TestTrace trace("losses from_ns=1 to_ns=2 source=kernel counter=kernel_ring_full "
                                "events=3 event=vfs_read\nsyscall_read ts_ns=1 pid=7\n");
  replace_in_manifest(trace, "\"event u32 value_event\"", "\"another u32 value_event\"");
  const auto engine = open(trace);
  EXPECT_EQ(answer(*engine, "SELECT another FROM losses()"), "vfs_read");
  EXPECT_EQ(answer(*engine, "SELECT count(*) FROM losses() WHERE event IS NULL"), "1");
  EXPECT_EQ(answer(*engine, "SELECT events || event FROM loss_totals"), "30");
}

TEST(engine, few_events_are_put_together_once) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const auto engine = open(trace);
  EXPECT_EQ(answer(*engine, "SELECT event || ts_ns FROM events"), "syscall_read1");
  EXPECT_EQ(answer(*engine, "SELECT estimated_size FROM duckdb_tables() WHERE table_name = "
                            "'all_events'"),
            "1");
}

TEST(engine, events_unites_the_tables_that_have_rows_and_is_there_without_any) {
  std::string rows;
  for (int number = 0; number <= 50'000; ++number)
    rows += "syscall_read ts_ns=1 pid=7\n";
  const golden::TestTrace trace(rows);
  const auto engine = open(trace);
  const std::string sql =
      answer(*engine, "SELECT sql FROM duckdb_views() WHERE view_name = 'all_events'");
  EXPECT_TRUE(sql.contains("syscall_read"));
  EXPECT_FALSE(sql.contains("syscall_write")) << sql;
  const golden::TestTrace nothing("");
  EXPECT_EQ(answer(*open(nothing), "SELECT count(*) FROM events"), "0");
}

TEST(engine, a_span_without_an_end_is_no_error) {
  const golden::TestTrace trace(
      "syscall_sync ts_ns=1 pid=7 duration_ns=5 result=-4095 call=fsync\n"
      "syscall_sync ts_ns=2 pid=7 duration_ns=5 result=-EIO call=fsync\n");
  const auto engine = open(trace);
  EXPECT_EQ(answer(*engine, "SELECT errors || '+' || unfinished FROM layers"), "1+1");
  EXPECT_EQ(answer(*engine, "SELECT errors FROM top_files"), "1");
  EXPECT_EQ(answer(*engine, "SELECT errno_name(error) FROM slowest ORDER BY ts_ns"), "unfinished");
}

TEST(engine, a_column_of_another_type_has_the_values_that_can_be_read_so) {
  for (const auto& [what, by] : {std::pair("\"mode u32 mode\"", "\"mode text text\""),
                                 std::pair("\"pid u32 pid\"", "\"pid text text\""),
                                 std::pair("\"call u32 value_syscall\"", "\"call u32 number\""),
                                 std::pair("\"result s64 result\"", "\"result text text\""),
                                 std::pair("\"file u32 file\"", "\"file text text\"")}) {
    const golden::TestTrace trace("syscall_read ts_ns=1 pid=7 duration_ns=5 result=8\n");
    replace_in_manifest(trace, what, by);
    const auto engine = open(trace);
    EXPECT_EQ(answer(*engine, "SELECT count(*) FROM syscall_read"), "1") << by;
    for (const char* view : {"operations", "errors", "slowest", "top_files", "directories",
                             "path_calls", "layers", "amplification"})
      EXPECT_TRUE(engine->query(fmt::format("FROM {}", view)).has_value()) << view << ' ' << by;
  }
}

TEST(engine, a_query_larger_than_its_memory_uses_the_disk) {
  std::string text;
  for (int i = 0; i < 2500; ++i)
    text += fmt::format("syscall_read ts_ns={} pid=1\n", i + 1);
  const golden::TestTrace trace(text);
  const auto engine = Engine::open(trace.path(), {.threads = 1, .memory_bytes = 48U << 20U});
  ASSERT_TRUE(engine.has_value());
  // A sort of 100 MB.
  EXPECT_EQ(answer(**engine,
                   "SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY a.ts_ns * "
                   "b.ts_ns) AS n FROM syscall_read AS a, syscall_read AS b) WHERE n > 0"),
            "6250000");
}

TEST(engine, too_little_memory_is_not_another_version) {
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += fmt::format("syscall_read ts_ns={} pid=1\n", i + 1);
  const golden::TestTrace trace(text);
  replace_in_manifest(trace, "\"mode u32 mode\"", "\"mode text text\"");
  const auto engine = Engine::open(trace.path(), {.threads = 1, .memory_bytes = 8U << 20U});
  ASSERT_TRUE(engine.has_value()) << engine.error().message();
  const auto rows =
      (*engine)->query("SELECT list(a.ts_ns * b.ts_ns) FROM syscall_read AS a, syscall_read AS b");
  ASSERT_FALSE(rows.has_value());
  EXPECT_TRUE(rows.error().message().contains("memory")) << rows.error().message();
  EXPECT_FALSE(rows.error().message().contains("version")) << rows.error().message();
}

TEST(engine, parquet_has_all_rows_with_their_types_and_exact_numbers) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7 result=-ENOENT call=read\n"
                                "syscall_read ts_ns=2 pid=8 result=5 call=read\n");
  const std::string path = (trace.directory() / "rows.parquet").string();
  std::ofstream(path).close();
  auto engine = Engine::open(trace.path(), {.output = path});
  ASSERT_TRUE(engine.has_value());
  const auto rows = (*engine)->write_parquet(
      "SELECT pid, result, call, [pid, 1] AS list, CAST(170141183460469231731687303715 AS HUGEINT) "
      "AS wide FROM syscall_read ORDER BY pid;");
  ASSERT_TRUE(rows.has_value()) << rows.error().message();
  EXPECT_EQ(*rows, 2U);
  auto reader = Engine::open(trace.path(), {.external_access = true});
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(
      answer(**reader, fmt::format("SELECT string_agg(pid || ' ' || result || ' ' || call || "
                                   "' ' || list[1] || ' ' || wide, ', ' ORDER BY pid) FROM '{}'",
                                   path)),
      "7 -2 read 7 170141183460469231731687303715, 8 5 read 8 170141183460469231731687303715");
  EXPECT_EQ(answer(**reader, fmt::format("SELECT typeof(result) FROM '{}' LIMIT 1", path)),
            "BIGINT");
}

TEST(engine, only_the_rows_of_a_query_get_into_its_output) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const std::string path = (trace.directory() / "rows.parquet").string();
  std::ofstream(path).close();
  auto engine = Engine::open(trace.path(), {.output = path});
  ASSERT_TRUE(engine.has_value());
  for (const char* sql : {"FROM checkpoint()", "SELECT 1; SELECT 2", "DELETE FROM manifest",
                          "SELECT * FROM read_text('/etc/passwd')"})
    EXPECT_FALSE((*engine)->write_parquet(sql).has_value()) << sql;
  EXPECT_FALSE((*engine)->query(fmt::format("COPY (SELECT 1) TO '{}'", path)).has_value());
}

TEST(engine, a_query_ends_when_its_time_is_over) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  auto engine = Engine::open(trace.path(), {.time_limit_ns = 50'000'000});
  ASSERT_TRUE(engine.has_value());
  const auto failure = [&](const char* sql) {
    auto rows = (*engine)->query(sql);
    if (!rows)
      return rows.error().message();
    const auto more = rows->next(); // a stream fails here
    return more ? std::string() : more.error().message();
  };
  for (const char* sql :
       {"SELECT sum(a.range * b.range) FROM range(10000000) AS a, range(10000000) AS b "
        "WHERE a.range + b.range < 0",
        "SELECT range FROM range(1000000000000) WHERE range < 0"})
    EXPECT_TRUE(failure(sql).contains("it took longer than 0.05 s")) << sql << ": " << failure(sql);
  EXPECT_EQ(answer(**engine, "SELECT 5"), "5");
}

TEST(engine, the_path_of_a_time_is_that_of_file_paths) {
  const golden::TestTrace trace(
      "syscall_open ts_ns=10 pid=1 file=/d/a path=/d/a result=3\n"
      "syscall_rename ts_ns=20 pid=1 path=/d/a new_path=/d/b duration_ns=5\n"
      "syscall_unlink ts_ns=30 pid=1 path=/d/b duration_ns=5\n");
  const auto engine = open(trace);
  const std::string file = answer(*engine, "SELECT file FROM files WHERE path = '/d/a'");
  for (const auto& [ts_ns, path] :
       {std::pair("0", "/d/a"), std::pair("24", "/d/a"), std::pair("25", "/d/b"),
        std::pair("34", "/d/b"), std::pair("35", "/d/b (deleted)"),
        std::pair("18446744073709551615", "/d/b (deleted)")})
    EXPECT_EQ(answer(*engine, fmt::format("SELECT shown_path_at({}, {})", file, ts_ns)), path);
  EXPECT_EQ(
      answer(*engine, "SELECT shown_path_at(99, 5) IS NULL AND shown_path_at(NULL, 5) IS NULL"),
      "true");
  EXPECT_EQ(answer(*engine, "SELECT string_agg(shown_path, ' ' ORDER BY since_ns) FROM file_paths"),
            "/d/a /d/b /d/b (deleted)");
}

} // namespace
} // namespace iotrail::analysis
