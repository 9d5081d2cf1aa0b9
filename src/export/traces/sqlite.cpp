// SPDX-License-Identifier: BSD-3-Clause
#include <sqlite3.h>

#include <memory>

#include "analysis/engine/sql_text.hpp"
#include "export/model/relations.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

struct CloseSqlite {
  void operator()(sqlite3* database) const { ::sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
};
using SqliteDatabase = std::unique_ptr<sqlite3, CloseSqlite>;
using SqliteStatement = std::unique_ptr<sqlite3_stmt, CloseSqlite>;

std::unexpected<Error> sqlite_failed(sqlite3* database) {
  if (::sqlite3_system_errno(database) != 0 && ::sqlite3_errcode(database) != SQLITE_ERROR)
    return fail_errno("cannot write the database", ::sqlite3_system_errno(database));
  return fail("cannot write the database", ::sqlite3_errmsg(database));
}

Result<void> run_sqlite(sqlite3* database, const std::string& sql) {
  if (::sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return sqlite_failed(database);
  return {};
}

// SQLite has signed numbers. A larger one becomes a text of digits.
void bind_sqlite(sqlite3_stmt* statement, int column, const analysis::Cell& cell) {
  const auto bind_text = [&](std::string_view text) {
    ::sqlite3_bind_text64(statement, column, text.data(), text.size(), SQLITE_TRANSIENT,
                          SQLITE_UTF8);
  };
  if (const auto* text = std::get_if<std::string_view>(&cell))
    bind_text(*text);
  else if (const auto* number = std::get_if<std::int64_t>(&cell))
    ::sqlite3_bind_int64(statement, column, *number);
  else if (const auto* real = std::get_if<double>(&cell))
    ::sqlite3_bind_double(statement, column, *real);
  else if (const auto* is_true = std::get_if<bool>(&cell))
    ::sqlite3_bind_int(statement, column, *is_true ? 1 : 0);
  else if (const auto* large = std::get_if<std::uint64_t>(&cell); large == nullptr)
    ::sqlite3_bind_null(statement, column);
  else if (*large <= INT64_MAX)
    ::sqlite3_bind_int64(statement, column, static_cast<sqlite3_int64>(*large));
  else
    bind_text(fmt::format("{}", *large));
}

Result<void> copy_to_sqlite(analysis::Engine& engine, sqlite3* database,
                            const std::string& relation) {
  auto rows = engine.query("FROM " + analysis::sql_name(relation));
  if (!rows)
    return std::unexpected(rows.error());
  std::string columns;
  std::string places;
  for (const analysis::ResultColumn& column : rows->columns()) {
    const std::string_view comma = columns.empty() ? "" : ", ";
    columns += fmt::format("{}{}", comma, analysis::sql_name(column.name));
    places += fmt::format("{}?", comma);
  }
  const std::string table = analysis::sql_name(relation);
  if (auto made = run_sqlite(database, fmt::format("CREATE TABLE {} ({})", table, columns)); !made)
    return made;
  sqlite3_stmt* prepared = nullptr;
  const std::string insert = fmt::format("INSERT INTO {} VALUES ({})", table, places);
  if (::sqlite3_prepare_v2(database, insert.c_str(), -1, &prepared, nullptr) != SQLITE_OK)
    return sqlite_failed(database);
  const SqliteStatement statement(prepared);
  for (;;) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      return {};
    int column = 0;
    for (const analysis::Cell& cell : rows->row())
      bind_sqlite(prepared, ++column, cell);
    if (::sqlite3_step(prepared) != SQLITE_DONE)
      return sqlite_failed(database);
    ::sqlite3_reset(prepared);
  }
}

Result<void> write_sqlite(const TraceInput& input, const std::filesystem::path& path) {
  sqlite3* opened = nullptr;
  const int state =
      ::sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  const SqliteDatabase database(opened);
  if (state != SQLITE_OK)
    return opened != nullptr ? Result<void>(sqlite_failed(opened))
                             : Result<void>(fail("cannot write the database", "not enough memory"));
  // The file is new: if the export fails, it is removed as a whole.
  auto done =
      run_sqlite(opened, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN EXCLUSIVE");
  for (const std::string& relation : relations_of(input.engine.trace()))
    if (done)
      done = copy_to_sqlite(input.engine, opened, relation);
  return done ? run_sqlite(opened, "COMMIT") : done;
}

} // namespace

extern const TraceFormat kTraceFormatSqlite = {
    .name = "sqlite",
    .suffix = "sqlite",
    .doc = "a database file for SQLite",
    .omits = "SQL functions and most views: the main ones are tables; numbers are as stored, and "
             "value_names has their names",
    .is_binary = true,
    .write_path = write_sqlite,
};

} // namespace iotrail::output
