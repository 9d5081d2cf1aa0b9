// SPDX-License-Identifier: BSD-3-Clause
//
// Hostile traces and queries must not harm the engine, or anything through it.
#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>

#include "analysis/engine/engine.hpp"
#include "analysis/engine/test_engine.hpp"
#include "schema.hpp"
#include "test_trace.hpp"

namespace iotrail::analysis {
namespace {

TEST(engine, names_in_a_foreign_trace_are_never_run_as_sql) {
  const std::string hostile = "x() AS y; CREATE TABLE planted (a INT); SELECT '1";
  for (const auto& [what, by] :
       {std::pair("\"syscall_read\"", "\"" + hostile + "\""),
        std::pair("\"cpu u16 cpu\"", std::string("\"c'\\\"pu u16 cpu\""))}) {
    const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
    replace_in_manifest(trace, what, by);
    const auto engine = open(trace);
    EXPECT_TRUE(engine->trace().damage().manifest);
    EXPECT_EQ(answer(*engine, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'planted'"),
              "0");
    EXPECT_EQ(answer(*engine, "SELECT count(*) FROM events"), "1");
  }
}

TEST(engine, a_table_with_the_name_of_a_view_does_not_take_its_place) {
  for (const char* name : {"events", "manifest", "all_events", "Top_Files", "losses", "causes"}) {
    const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
    replace_in_manifest(trace, "\"syscall_read\"", fmt::format("\"{}\"", name));
    const auto engine = open(trace);
    EXPECT_EQ(answer(*engine, "SELECT sum(pid) FROM events"), "7") << name;
    EXPECT_TRUE(engine->query("FROM manifest, top_files, losses, causes").has_value()) << name;
  }
}

// The engine ignores case: names that differ only in case would fail in the middle of a query.
TEST(engine, names_that_differ_only_in_case_are_reported_as_damage) {
  for (const auto& [what, by] : {std::pair("\"syscall_read\"", "\"SYSCALL_WRITE\""),
                                 std::pair("\"pid u32 pid\"", "\"TID u32 pid\""),
                                 std::pair("\"pid u32 pid\"", "\"PID u32 pid\""),
                                 std::pair("\"pid u32 pid\"", "\"position u32 pid\"")}) {
    const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
    replace_in_manifest(trace, what, by);
    const auto engine = open(trace);
    EXPECT_TRUE(engine->trace().damage().manifest) << by;
    EXPECT_EQ(answer(*engine, "SELECT sum(pid) FROM syscall_read"), "7") << by;
    EXPECT_TRUE(engine->query("SELECT * FROM syscall_write, events, top_files").has_value()) << by;
  }
}

// A column of a foreign trace may have the SQL name of a field that this trace lacks.
TEST(engine, a_column_with_the_name_that_a_field_has_in_sql_takes_its_place) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7 offset=3\n");
  replace_in_manifest(trace, "\"offset ", "\"position ");
  const auto engine = open(trace);
  EXPECT_FALSE(engine->trace().damage().manifest);
  EXPECT_EQ(answer(*engine, "SELECT position FROM syscall_read"), "3");
}

TEST(engine, any_text_of_a_manifest_comes_back) {
  const golden::TestTrace trace("manifest host=HOST\nsyscall_read ts_ns=1 pid=7\n");
  replace_in_manifest(trace, "HOST", "a'b\\u0000c\\n\\u202e");
  const auto engine = open(trace);
  EXPECT_EQ(answer(*engine, "SELECT value FROM manifest WHERE \"key\" = 'host'"),
            std::string("a'b\0c\n\u202e", 9));
}

TEST(engine, a_manifest_full_of_nuls_is_read) {
  const golden::TestTrace trace("manifest host=HOST\nsyscall_read ts_ns=1 pid=7\n");
  std::string nuls;
  for (int i = 0; i < 5000; ++i)
    nuls += "\\u0000";
  replace_in_manifest(trace, "HOST", nuls + "a" + nuls);
  const auto engine = open(trace);
  EXPECT_EQ(answer(*engine, "SELECT value FROM manifest WHERE \"key\" = 'host'"),
            std::string(5000, '\0') + "a" + std::string(5000, '\0'));
}

TEST(engine, a_query_reaches_nothing_but_the_trace) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const auto engine = open(trace);
  const std::string out = (trace.directory() / "out").string();
  for (const std::string& sql : {
           fmt::format("COPY (SELECT 1) TO '{}'", out),
           fmt::format("EXPORT DATABASE '{}'", out),
           fmt::format("ATTACH '{}'", out),
           std::string("SELECT * FROM read_csv('/etc/passwd')"),
           std::string("SELECT * FROM '/etc/passwd'"),
           std::string("SELECT * FROM read_text('/etc/passwd')"),
           std::string("SELECT * FROM glob('/etc/*')"),
           std::string("INSTALL httpfs"),
           std::string("LOAD '/tmp/x.duckdb_extension'"),
           std::string("SET enable_external_access = true"),
           std::string("SET temp_directory = '/etc'"),
           std::string("PRAGMA enable_profiling; PRAGMA profiling_output = '/tmp/x'"),
           std::string("SET lock_configuration = false"),
       }) {
    const auto rows = engine->query(sql);
    EXPECT_FALSE(rows.has_value()) << sql;
    EXPECT_FALSE(std::filesystem::exists(out)) << sql;
  }
  EXPECT_EQ(answer(*engine, "SELECT count(*) FROM events"), "1");
}

// The relations that it names are not defined for it: that takes seconds.
TEST(engine, a_statement_that_does_not_read_is_refused_by_its_first_word) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const auto engine = open(trace);
  for (const char* sql :
       {"COPY no_such_view TO 'rows.csv'",
        " -- all\n/* of it */ Insert INTO no_such_view VALUES (1)", "set threads = 1"}) {
    const auto rows = engine->query(sql);
    ASSERT_FALSE(rows.has_value()) << sql;
    EXPECT_EQ(rows.error().what, "the query is refused") << rows.error().message();
  }
  EXPECT_TRUE(engine->query("SELECT 1 AS copy").has_value());
}

std::string extreme(const schema::Field& field, bool is_largest) {
  if (field.meaning == schema::Meaning::file || schema::is_string_key(field.meaning))
    return "/text";
  const unsigned bits = 8U * schema::info(field.type).size_bytes;
  const std::uint64_t all = ~0ULL >> (64 - bits);
  if (!schema::info(field.type).is_signed)
    return fmt::format("{}", is_largest ? all : 0);
  const auto largest = static_cast<std::int64_t>(all >> 1U);
  return fmt::format("{}", is_largest ? largest : -largest - 1);
}

// Two rows for each event: one with the largest numbers that its fields can hold, one with the
// smallest.
std::string extreme_trace() {
  std::string text =
      "manifest command=x begin_ns=1000 end_ns=2000 monotonic_to_real_ns=9223372036854775807\n"
      "source name=kernel produced=1 written=18446744073709551615 lost=18446744073709551615\n"
      "source name=preload produced=0 written=0 lost=18446744073709551615\n";
  for (const schema::Event& event : schema::kEvents)
    for (const bool is_largest : {true, false}) {
      if (event.layer == schema::Layer::dictionary)
        continue;
      text += event.name;
      for (const schema::Field& field : event.fields)
        text += fmt::format(" {}={}", field.name, extreme(field, is_largest));
      text += '\n';
    }
  return text;
}

std::vector<std::string> views_of(Engine& engine) {
  std::vector<std::string> views;
  for (auto rows = engine.query("SELECT view_name FROM duckdb_views() WHERE NOT internal");
       *rows->next();)
    views.emplace_back(std::get<std::string_view>(rows->row()[0]));
  return views;
}

TEST(long_engine, no_number_is_too_large_for_a_view) {
  const golden::TestTrace trace(extreme_trace());
  const auto engine = open(trace);
  const std::vector<std::string> views = views_of(*engine);
  EXPECT_GT(views.size(), 20U);
  for (const std::string& view : views) {
    auto rows = engine->query(fmt::format("SELECT * FROM {}", view));
    EXPECT_TRUE(rows.has_value()) << view << ": " << rows.error().message();
    Result<bool> more = rows.has_value();
    while (more && *more)
      more = rows->next();
    EXPECT_TRUE(more.has_value()) << view << ": " << more.error().message();
  }
}

std::int64_t cpu_time_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

// CPU time to compute the parts of 4,000 calls with equal or different numbers.
std::int64_t time_of_parts(bool is_shared, std::string* sum) {
  std::string events;
  for (int i = 0; i < 4000; ++i)
    events +=
        fmt::format("async_operation ts_ns={0} op_id={1} pid=7 tid=7 duration_ns=5\n"
                    "syscall_write ts_ns={0} op_id={1} pid=7 tid=7 duration_ns=5 call=write\n",
                    i, is_shared ? 1 : i + 1);
  const golden::TestTrace trace(events);
  const auto engine = open(trace);
  const std::int64_t begin_ns = cpu_time_ns();
  *sum = answer(*engine, "SELECT sum(ns) FROM call_parts");
  return cpu_time_ns() - begin_ns;
}

// Each pair of calls with the same number was a piece of time: seconds and gigabytes.
TEST(engine, thousands_of_operations_of_one_number_take_their_times_no_longer_than_others) {
  std::string shared;
  std::string others;
  const std::int64_t shared_ns = time_of_parts(true, &shared);
  const std::int64_t others_ns = time_of_parts(false, &others);
  EXPECT_EQ(shared, "4004");
  EXPECT_EQ(others, "20000");
  EXPECT_LT(shared_ns, 10 * others_ns);
}

// CPU time to query each view about operations of all layers, with equal or different numbers.
std::int64_t time_of_views(bool is_shared) {
  constexpr int kRows = 300;
  const std::map<std::string, std::string> kinds{{"app_write", "duration_ns=90"},
                                                 {"syscall_write", "duration_ns=50"},
                                                 {"vfs_write", "duration_ns=40"},
                                                 {"sched_wait", "duration_ns=5"},
                                                 {"cache_dirty", ""},
                                                 {"block_queue", ""},
                                                 {"block_complete", "duration_ns=5"},
                                                 {"fs_sync", "duration_ns=5"},
                                                 {"async_operation", "duration_ns=5"}};
  std::string events;
  for (int row = 0; row < kRows; ++row)
    for (int later = 0; const auto& [kind, fields] : kinds)
      events +=
          fmt::format("{} ts_ns={} op_id={} parent_op={} pid=7 tid=7 {}\n", kind,
                      row * 100 + ++later, is_shared ? 1 : row + 1, is_shared ? 1 : 0, fields);
  const golden::TestTrace trace(events);
  const auto engine = open(trace);
  const std::int64_t begin_ns = cpu_time_ns();
  for (const std::string& view : views_of(*engine))
    EXPECT_NE(answer(*engine, fmt::format("SELECT count(*) FROM {}", view)), "") << view;
  return cpu_time_ns() - begin_ns;
}

TEST(long_engine, no_view_takes_far_longer_where_operations_share_a_number) {
  const std::int64_t shared_ns = time_of_views(true);
  const std::int64_t others_ns = time_of_views(false);
  EXPECT_LT(shared_ns, 3 * others_ns);
}

TEST(engine, calls_on_one_path_at_one_time_are_each_counted_once) {
  std::string events;
  for (int call = 0; call < 3000; ++call)
    events +=
        "syscall_stat ts_ns=5 pid=7 path=/a fd=-100 duration_ns=5 call=statx result=-ENOENT\n";
  const golden::TestTrace trace(events);
  EXPECT_EQ(answer(*open(trace), "SELECT calls || ' ' || path FROM errors"), "3000 /a");
}

// Each row would have a copy of the text.
TEST(engine, a_text_that_is_too_long_for_a_path_is_none) {
  const golden::TestTrace trace(
      "syscall_stat ts_ns=5 pid=7 path=/" + std::string(4095, 'x') + " call=statx duration_ns=5\n" +
      "syscall_stat ts_ns=6 pid=7 path=/" + std::string(4094, 'x') + " call=statx duration_ns=5\n");
  EXPECT_EQ(answer(*open(trace), "SELECT sum(strlen(path)) FROM path_calls"), "4095");
}

TEST(engine, a_name_that_is_no_text_harms_no_query) {
  const golden::TestTrace trace("file path=/a\xff\xfe\xed\xa0\x80z inode=1\n"
                                "syscall_read ts_ns=1 pid=7 file=/a\xff\xfe\xed\xa0\x80z\n");
  const auto engine = open(trace);
  EXPECT_EQ(answer(*engine, "SELECT path FROM files"), R"(/a\xff\xfe\xed\xa0\x80z)");
  EXPECT_EQ(answer(*engine, "SELECT reverse(upper(max(path))) FROM operations"),
            R"(Z08X\0AX\DEX\EFX\FFX\A/)");
}

TEST(engine, a_byte_and_the_letters_that_stand_for_it_are_two_names) {
  const golden::TestTrace trace("file path=/a\xfe inode=1\nfile path=/a\\xfe inode=2\n"
                                "syscall_read ts_ns=1 pid=7 file=/a\xfe\n"
                                "syscall_read ts_ns=2 pid=7 file=/a\\xfe\n");
  EXPECT_EQ(answer(*open(trace), "SELECT string_agg(path, ' ' ORDER BY path) FROM top_files"),
            R"(/a\x5cxfe /a\xfe)");
}

TEST(engine, a_query_is_one_statement_that_reads) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const auto engine = open(trace);
  for (const char* sql :
       {"CALL enable_logging(storage = 'file', storage_path = '/tmp/l'); SELECT 1",
        "CALL enable_logging()",
        "FROM enable_logging()",
        "FROM disable_logging()",
        "FROM checkpoint()",
        "SELECT 1 FROM range(3), force_checkpoint('memory')",
        "FROM truncate_duckdb_logs()",
        "FROM query('FROM enable_' || 'logging()') LIMIT 1",
        "FROM json_execute_serialized_sql(json_serialize_sql('FROM checkpoint()'))",
        "FROM query('FROM query(''FROM checkpoint()'')')",
        "FROM query(CASE WHEN random() < 0.5 THEN 'SELECT true' ELSE 'FROM checkpoint()' END)",
        "FROM query('SELECT ' || random())",
        "SELECT * FROM \"query\"(concat('FROM check', 'point()'))",
        "EXPLAIN ANALYZE FROM enable_logging()",
        "EXPLAIN ANALYZE INSERT INTO manifest VALUES ('a', 'b')",
        "/* a */ explain -- b\n (ANALYZE) DELETE FROM manifest",
        "EXPLAIN CREATE TABLE t (a INT)",
        "EXPLAIN ANALYZE INSERT INTO manifest SELECT 'a', 'b' FROM "
        "(PIVOT tables ON layer USING sum(row_count))",
        "SUMMARIZE FROM checkpoint()",
        "SELECT 1; SELECT 2",
        "CREATE TABLE t (a INT)",
        "DROP VIEW events",
        "SET threads = 1",
        "USE memory",
        "BEGIN",
        "INSERT INTO manifest VALUES ('a', 'b')",
        "DELETE FROM manifest",
        "PREPARE p AS SELECT 1",
        "CHECKPOINT",
        "CREATE TABLE t (a INT); PIVOT manifest ON \"key\" USING count(*)",
        "CREATE TABLE t (a INT); FROM __pivot_enum_a",
        "CALL enable_logging(); FROM __pivot_enum_a",
        "PIVOT (SELECT 1 AS a FROM enable_logging()) ON a USING count(*)"}) {
    const auto rows = engine->query(sql);
    EXPECT_TRUE(!rows.has_value() && rows.error().message().contains("one statement that reads"))
        << sql;
  }
  for (const char* sql :
       {"SELECT 1",
        "WITH a AS (SELECT 1) FROM a",
        "VALUES (1);",
        "FROM events",
        "SHOW TABLES",
        "DESCRIBE events",
        "SUMMARIZE tables",
        "EXPLAIN SELECT 1",
        "FROM range(3)",
        "EXPLAIN ANALYZE SELECT 1",
        "explain (FORMAT json) FROM events",
        "/* a */EXPLAIN SELECT 1",
        "FROM query('FROM query(''SELECT 1'')')",
        "SELECT 'query'",
        "FROM generate_series(1, 3)",
        "FROM unnest([1, 2])",
        "FROM query('SELECT 1')",
        "SELECT 'ENABLE_LOGGING', '\"Function\": \"CHECKPOINT\"' FROM tables",
        "PIVOT tables ON layer USING sum(row_count)",
        "PIVOT tables ON layer USING sum(row_count) ;\n",
        "SELECT * FROM (PIVOT tables ON layer IN ('syscall') USING sum(row_count))"})
    EXPECT_TRUE(engine->query(sql).has_value()) << sql;
}

TEST(engine, a_wrong_name_in_a_pivot_is_named) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const auto engine = open(trace);
  for (const char* sql : {"pivot (select nosuch from operations) on nosuch using count(*)",
                          "PIVOT operations ON nosuch USING count(*)"}) {
    const std::string message = answer(*engine, sql);
    EXPECT_TRUE(message.contains("there is no column 'nosuch'")) << message;
  }
}

TEST(engine, a_query_may_reach_files_where_that_is_asked_for) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const auto engine = Engine::open(trace.path(), {.external_access = true});
  ASSERT_TRUE(engine.has_value());
  EXPECT_EQ(answer(**engine, "SELECT count(*) FROM read_text('/etc/passwd')"), "1");
}

} // namespace
} // namespace iotrail::analysis
