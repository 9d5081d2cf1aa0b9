// SPDX-License-Identifier: BSD-3-Clause
//
// Results as streams: a stream that is cut short for any reason never passes for a complete one.
#include "analysis/engine/rows.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "analysis/engine/test_engine.hpp"

extern "C" void* iotrail_duckdb_functions[]; // duckdb_library.cpp

namespace iotrail::analysis {
namespace {

// Number of rows; an error instead if the stream failed.
std::string count_of(Result<Rows> rows) {
  if (!rows)
    return rows.error().message();
  for (std::uint64_t count = 0;; ++count) {
    const auto more = rows->next();
    if (!more)
      return more.error().message();
    if (!*more)
      return fmt::format("{}", count);
  }
}

TEST(rows, a_stream_that_another_query_ends_is_an_error_and_not_empty) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const auto engine = open(trace);
  for (const char* sql : {"SELECT * FROM range(1000000)", "SELECT pid FROM syscall_read"}) {
    auto rows = engine->query(sql);
    EXPECT_EQ(count_of(engine->query("SELECT pid FROM syscall_read")), "1");
    EXPECT_TRUE(count_of(std::move(rows)).contains("another query")) << sql;
  }
}

TEST(rows, a_stream_that_fails_at_its_first_row_or_later_is_an_error) {
  const golden::TestTrace trace("");
  const auto engine = open(trace);
  for (const int row : {0, 900'000})
    EXPECT_TRUE(
        count_of(engine->query(fmt::format("SELECT CASE WHEN range = {} THEN error('broken') "
                                           "ELSE range END FROM range(1000000)",
                                           row)))
            .contains("broken"))
        << row;
}

TEST(rows, a_stream_for_which_memory_is_lacking_is_an_error) {
  const golden::TestTrace trace("");
  auto engine = Engine::open(trace.path(), {.memory_bytes = 4U << 20U, .external_access = true});
  ASSERT_TRUE(engine.has_value());
  EXPECT_EQ(count_of((*engine)->query("SET temp_directory = ''; SELECT 1")), "1");
  EXPECT_TRUE(count_of((*engine)->query("SELECT list(range) FROM range(10000000)"))
                  .contains("the query failed"));
}

// Ends a stream after some chunks, as the engine's library does when it aborts a query.
class StreamCutter {
public:
  explicit StreamCutter(int chunks) : place_(iotrail_duckdb_functions) {
    void* const library = ::dlopen("libduckdb.so", RTLD_NOW | RTLD_NOLOAD);
    void* const fetch = ::dlsym(library, "duckdb_fetch_chunk");
    while (*place_ != fetch)
      ++place_;
    chunks_left = chunks;
    real = reinterpret_cast<Fetch*>(fetch);
    *place_ = reinterpret_cast<void*>(cut);
  }
  StreamCutter(const StreamCutter&) = delete;
  StreamCutter& operator=(const StreamCutter&) = delete;
  ~StreamCutter() { *place_ = reinterpret_cast<void*>(real); }

private:
  using Fetch = duckdb_data_chunk(duckdb_result);
  static duckdb_data_chunk cut(duckdb_result result) {
    duckdb_data_chunk chunk = real(result);
    if (chunks_left-- > 0)
      return chunk;
    for (; chunk; chunk = real(result)) // lost without an error
      duckdb_destroy_data_chunk(&chunk);
    return nullptr;
  }
  static inline int chunks_left;
  static inline Fetch* real;
  void** place_;
};

TEST(rows, rows_that_the_library_made_and_did_not_deliver_are_an_error) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const auto engine = open(trace);
  for (const auto& [chunks, sql] :
       {std::pair{0, "SELECT pid FROM syscall_read"},
        {0, "SELECT range % 7, count(*) FROM range(100000) GROUP BY 1 ORDER BY 1"},
        {0, "WITH a AS MATERIALIZED (SELECT 1 AS x) SELECT * FROM a JOIN a AS b USING (x)"},
        {2, "SELECT * FROM range(100000)"}}) {
    const StreamCutter cutter(chunks);
    EXPECT_TRUE(count_of(engine->query(sql)).contains("and delivered")) << sql;
  }
}

TEST(rows, the_rows_delivered_are_those_that_the_engine_counted) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\nsyscall_read ts_ns=2 pid=7\n");
  auto engine = Engine::open(trace.path(), {.external_access = true});
  ASSERT_TRUE(engine.has_value());
  const std::pair<const char*, const char*> queries[] = {
      {"SELECT * FROM range(100000)", "100000"},
      {"SELECT * FROM range(100000) LIMIT 3", "3"},
      {"SELECT * FROM range(100000) ORDER BY 1 DESC LIMIT 5 OFFSET 2", "5"},
      {"SELECT * FROM range(100000) WHERE range < 0", "0"},
      {"SELECT * FROM range(10000) UNION ALL SELECT 1", "10001"},
      {"SELECT range % 7, count(*) FROM range(100000) GROUP BY 1", "7"},
      {"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10) FROM r", "10"},
      {"SELECT DATE '2000-01-01' + CAST(range AS INTEGER) FROM range(5000)", "5000"},
      {"WITH a AS MATERIALIZED (SELECT 1 AS x), b AS MATERIALIZED (SELECT x FROM a) "
       "SELECT * FROM a JOIN b USING (x) ORDER BY x LIMIT 4",
       "1"},
      {"VALUES (1), (2)", "2"},
      {"DESCRIBE SELECT 1 AS a, 2 AS b", "2"},
      {"SELECT * FROM syscall_read", "2"},
      {"SELECT a.pid FROM syscall_read AS a CROSS JOIN syscall_read AS b", "4"},
      {"SELECT 1; SELECT 2 UNION ALL SELECT 3", "2"},
      {"SELECT * FROM range(3) WHERE EXISTS (SELECT * FROM syscall_read)", "3"},
      {"EXPLAIN SELECT 1", "1"},
      {"EXPLAIN ANALYZE SELECT 1", "1"},
      {"CREATE TABLE made (a INTEGER)", "0"},
      {"INSERT INTO made VALUES (1), (2) RETURNING a", "2"},
      {"SUMMARIZE SELECT 1 AS a", "1"},
      {"PRAGMA version", "1"},
  };
  for (const auto& [sql, rows] : queries)
    EXPECT_EQ(count_of((*engine)->query(sql)), rows) << sql;
}

} // namespace
} // namespace iotrail::analysis
