// SPDX-License-Identifier: BSD-3-Clause
//
// Statements of the engine: prepared, and wrapped so that their columns have other types.
#pragma once

#include <duckdb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/query_timer.hpp"
#include "base/result.hpp"

namespace iotrail::analysis {

struct Connection {
  duckdb_connection handle = nullptr;
  bool reads_only = false;         // a query is one statement that only reads
  std::uint64_t queries = 0;       // queries begun so far; a new one ends the one before it
  std::uint64_t time_limit_ns = 0; // of a query, up to its last row; 0: none
  OnOverdue on_overdue;
};

struct Statement {
  duckdb_prepared_statement handle = nullptr;
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { duckdb_destroy_prepare(&handle); }
};

inline constexpr std::string_view kMemoryHint =
    "It may take half of the machine's memory, 4 GiB at most, and no more than `ulimit -v` and its "
    "control group allow.\n  `iotrail query --memory-limit SIZE` sets another limit.";
inline constexpr std::string_view kQueryFailed = "the query failed";
// The remedy for a query that names files.
inline constexpr std::string_view kReadsAlone =
    "A query reads the trace alone: `-o FILE` writes its rows, and --unsafe-external-access allows "
    "it\n  to read and write any file.";
// An error with the engine's message; code ENOMEM: it had too little memory.
Error engine_error(std::string what, const char* why);
std::unexpected<Error> query_failed(const char* why);

// The types that a cell can hold unchanged.
bool is_plain(duckdb_type type);
// A list, a structure or a map.
bool is_nested(duckdb_type type);

// `sql`, wrapped so that each column becomes what `column` makes of its index and type.
std::string wrapped(duckdb_prepared_statement statement, std::string_view sql,
                    std::string (*column)(idx_t place, duckdb_type type));

// The types of a result.
enum class Form : std::uint8_t {
  stored, // those of the statement
  plain,  // plain ones: columns of others become text
  arrow   // those that Arrow has: columns of others become text, and integers of 128 bits decimals
};

// Prepares the last of the statements in `sql`, after running those before it; returns the types of
// its own columns, before they get that form.
Result<std::vector<duckdb_type>> prepare_last(const Connection& of, const std::string& sql,
                                              Statement& statement, Form form);

// Writes all rows of a query to a file, which must exist, as Parquet. Returns the number of rows.
Result<std::uint64_t> write_parquet(const Connection& connection, std::string_view sql,
                                    const std::string& path);

} // namespace iotrail::analysis
