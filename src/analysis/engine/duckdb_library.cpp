// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of duckdb.h as jumps through a table that load_duckdb() fills from the library. The
// rows of duckdb_functions.def are generated from the header, so none can be missing.
#include "analysis/engine/duckdb_library.hpp"

#include <dlfcn.h>
#include <duckdb.h>

#include <iterator>

#include <fmt/format.h>

#include "analysis/engine/sql_text.hpp"

namespace {

constexpr const char* kNames[] = {
#define DUCKDB_FUNCTION(place, name) #name,
#include "duckdb_functions.def"
#undef DUCKDB_FUNCTION
};

} // namespace

extern "C" {
[[gnu::visibility("hidden")]] void* iotrail_duckdb_functions[std::size(kNames)];
}

// clang-format off
#define DUCKDB_FUNCTION(place, name)                                                               \
  asm(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n"                   \
      #name ":\n  jmp *iotrail_duckdb_functions+8*" #place "(%rip)\n");
#include "duckdb_functions.def"
#undef DUCKDB_FUNCTION
// clang-format on

namespace iotrail::analysis {
namespace {

Error no_library(const char* why) {
  return {"SQL engine", why != nullptr ? why : "the library cannot be loaded",
          "tools/setup installs DuckDB, an installed iotrail has it in lib/iotrail; where memory "
          "is limited "
          "(`ulimit -v`), it needs some 100 MB",
          0};
}

// Stays loaded for the life of the process. iotrail never calls a function that this version of the
// library lacks.
Result<void> load_once() {
  void* const library = ::dlopen("libduckdb.so", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr)
    return std::unexpected(no_library(::dlerror()));
  for (std::size_t place = 0; place < std::size(kNames); ++place)
    iotrail_duckdb_functions[place] = ::dlsym(library, kNames[place]);
  return {};
}

// Closes what it opened.
struct Session {
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  duckdb_result result{};
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    duckdb_destroy_result(&result);
    duckdb_disconnect(&connection);
    duckdb_close(&database);
  }
};

} // namespace

Result<void> load_duckdb() {
  static const Result<void> loaded = load_once();
  return loaded;
}

Result<std::string> sha256_digits(std::string_view text) {
  if (const auto loaded = load_duckdb(); !loaded)
    return std::unexpected(loaded.error());
  Session session;
  if (duckdb_open(nullptr, &session.database) != DuckDBSuccess ||
      duckdb_connect(session.database, &session.connection) != DuckDBSuccess)
    return fail("SQL engine", "it does not start");
  const std::string sql = fmt::format("SELECT sha256({})", sql_literal(text));
  if (duckdb_query(session.connection, sql.c_str(), &session.result) != DuckDBSuccess)
    return fail("SQL engine", duckdb_result_error(&session.result));
  char* const digits = duckdb_value_varchar(&session.result, 0, 0);
  std::string copy = digits == nullptr ? "" : digits;
  duckdb_free(digits);
  return copy;
}

} // namespace iotrail::analysis
