// SPDX-License-Identifier: BSD-3-Clause
//
// The relation `all_events`: a union of the event tables, each mapped to the columns of the roles
// (schema/roles.def).
#include <algorithm>

#include <fmt/ranges.h>

#include "analysis/engine/relations.hpp"
#include "analysis/engine/sql_text.hpp"
#include "value_text.hpp"

namespace iotrail::analysis {

namespace {

// A foreign trace may have a column of any type: if it cannot be cast to `sql_type`, the value is
// NULL.
std::string cast_sql(const store::ColumnInfo& column, std::string_view sql_type) {
  const std::string name = sql_name(column.name);
  return schema::sql_type(column.type, column.meaning) == sql_type
             ? name
             : fmt::format("TRY_CAST({} AS {})", name, sql_type);
}

std::string number_sql(const store::ColumnInfo& column) {
  const bool is_text = schema::type_in_sql(column.type, column.meaning) == schema::Type::text;
  return is_text ? cast_sql(column, "BIGINT") : sql_name(column.name);
}

// "CASE x WHEN 1 THEN 'one' ... ELSE 'other' END"
class CaseSql {
public:
  explicit CaseSql(std::string_view subject) : sql_(fmt::format("CASE {}", subject)) {}
  void when(std::string_view value, std::string_view result) {
    sql_ += fmt::format(" WHEN {} THEN {}", value, sql_literal(result));
  }
  std::string otherwise(std::string_view result) const {
    return fmt::format("{} ELSE {} END", sql_, sql_literal(result));
  }

private:
  std::string sql_;
};

// The operation in the choice of a set of flags: "read", "write", ...
std::string choice_sql(const store::ColumnInfo& flags) {
  const std::string_view table = schema::value_table(flags.meaning);
  const std::uint32_t mask = schema::choice_mask(table);
  CaseSql sql(fmt::format("{} & {}", number_sql(flags), mask));
  for (const schema::Value& value : schema::kValues)
    if (value.table == table && (value.number & ~mask) == 0)
      sql.when(fmt::format("{}", value.number), value.name);
  return sql.otherwise("other");
}

// The class, followed by the purpose if the flags have one: "write metadata".
std::string operation_sql(const store::TableInfo& table) {
  const store::ColumnInfo* flags = table.column(schema::Role::operation);
  if (flags == nullptr)
    return class_sql(table);
  std::string purposes;
  for (const schema::Purpose& purpose : schema::kPurposes)
    if (purpose.table == schema::value_table(flags->meaning))
      purposes += fmt::format(" WHEN {0} & {1} = {1} THEN {2}", number_sql(*flags), purpose.number,
                              sql_literal(fmt::format(" {}", purpose.name)));
  return purposes.empty() ? class_sql(table)
                          : fmt::format("{} || CASE{} ELSE '' END", class_sql(table), purposes);
}

std::string bytes_sql(const store::ColumnInfo& column) {
  const std::string name = number_sql(column);
  if (schema::is_result(column.meaning))
    return fmt::format("CAST(greatest({}, 0) AS UBIGINT)", name);
  if (column.meaning == schema::Meaning::pages)
    return fmt::format("bytes_of_pages({})", name);
  return fmt::format("nullif(TRY_CAST({} AS UBIGINT), 0)", name); // a flush moves no bytes
}

// MSG_PEEK leaves the bytes in the socket: the call that takes them counts them. Empty: the table
// has no such flags.
std::string is_peek_sql(const store::TableInfo& table) {
  const auto flags =
      std::ranges::find(table.columns, schema::Meaning::flags_msg, &store::ColumnInfo::meaning);
  const auto* peek = std::ranges::find_if(schema::kValues, [](const schema::Value& value) {
    return value.table == "msg" && value.name == "MSG_PEEK";
  });
  if (flags == table.columns.end() ||
      !schema::has_trait(schema::class_name(table.name, table.layer), schema::Trait::receives))
    return {};
  return fmt::format("{} & {} <> 0", number_sql(*flags), peek->number);
}

std::string moved_bytes_sql(const store::TableInfo& table, const store::ColumnInfo& column) {
  const std::string is_peek = is_peek_sql(table);
  return is_peek.empty() ? bytes_sql(column)
                         : fmt::format("CASE WHEN {} THEN CAST(0 AS UBIGINT) ELSE {} END", is_peek,
                                       bytes_sql(column));
}

// The column of `events` that the field with `role` fills.
std::string role_sql(const store::TableInfo& table, schema::Role role) {
  if (role == schema::Role::operation)
    return class_sql(table);
  const store::ColumnInfo* column = table.column(role);
  if (role == schema::Role::result && !column)
    column = table.column(schema::Role::bytes); // negative bytes are an error
  if (role == schema::Role::result && column && schema::is_result(column->meaning))
    return fmt::format("CAST(greatest(least({}, 0), -2147483648) AS INTEGER)", number_sql(*column));
  if (role == schema::Role::bytes && column)
    return moved_bytes_sql(table, *column);
  if (!column || role == schema::Role::result)
    return fmt::format("CAST({} AS {})", schema::info(role).absent, schema::info(role).sql_type);
  const std::string cast = cast_sql(*column, schema::info(role).sql_type);
  return column->meaning == schema::Meaning::fd
             ? fmt::format("coalesce({}, {})", cast, schema::info(role).absent)
             : cast;
}

// A table, and the source of its rows.
struct EventRows {
  store::TableInfo table;
  std::string source;
};

std::string event_rows_sql(const EventRows& rows) {
  const store::TableInfo& table = rows.table;
  std::string columns =
      fmt::format("{} AS layer, {} AS event", sql_literal(table.layer), sql_literal(table.name));
  for (std::size_t i = 1; i < std::size(schema::kRoles); ++i)
    if (!schema::kRoles[i].column.empty())
      columns += fmt::format(", {} AS {}", role_sql(table, static_cast<schema::Role>(i)),
                             schema::kRoles[i].column);
  return fmt::format("SELECT {}, {} AS operation FROM {}", columns, operation_sql(table),
                     rows.source);
}

EventRows rows_alone(const store::TableInfo& table) {
  return {table, sql_name(table.name) + "()"};
}

// The column with the role, if its type fits.
const store::ColumnInfo* column_as(const store::TableInfo& table, schema::Role role) {
  const store::ColumnInfo* column = table.column(role);
  return column && schema::sql_type(column->type, column->meaning) == schema::info(role).sql_type
             ? column
             : nullptr;
}

// Operations with the paths that another event of the same operation has. If a damaged trace has
// several, the smallest ones are used, so that an operation stays one row.
EventRows rows_with_paths(const store::TableInfo& operations, const store::TableInfo& paths) {
  using enum schema::Role;
  EventRows rows = rows_alone(operations);
  const store::ColumnInfo* of_operation = column_as(operations, op);
  const store::ColumnInfo* of_paths = column_as(paths, op);
  if (!of_operation || !of_paths)
    return rows;
  std::string given;
  std::string joined;
  for (const schema::Role role : {path, at_fd, to_path, to_at_fd}) {
    const store::ColumnInfo* column = column_as(paths, role);
    if (!column || operations.column(role))
      continue;
    const std::string name = "paths." + column->name; // columns of a trace have no dot
    given += fmt::format(", min({}) AS {}", sql_name(column->name), sql_name(name));
    joined += fmt::format(", coalesce({0}, {1}) AS {0}", sql_name(name), schema::info(role).absent);
    rows.table.columns.push_back({name, column->type, column->meaning, role});
  }
  const std::string key = sql_name("paths.op");
  rows.source = fmt::format("(SELECT o.*{} FROM {} AS o LEFT JOIN (SELECT {} AS {}{} FROM {} GROUP "
                            "BY {}) ON o.{} = {})",
                            joined, rows.source, sql_name(of_paths->name), key, given,
                            rows_alone(paths).source, sql_name(of_paths->name),
                            sql_name(of_operation->name), key);
  return rows;
}

const store::TableInfo* find_table(Tables tables, std::string_view name) {
  const auto found = std::ranges::find(tables, name, &store::TableInfo::name);
  return found == tables.end() ? nullptr : &*found;
}

} // namespace

// To plan a union of all tables for each query that names it takes longer than to read this many
// rows.
bool is_large(const store::TraceReader& reader) {
  constexpr std::uint64_t kMostRowsKept = 50'000;
  std::uint64_t rows = 0;
  for (const store::BlockInfo& block : reader.blocks()) {
    const store::TableInfo* table = reader.table(block.kind);
    rows += table != nullptr && !table->is_dictionary() ? block.rows : 0;
  }
  return rows > kMostRowsKept;
}

std::string class_sql(const store::TableInfo& table) {
  if (const store::ColumnInfo* flags = table.column(schema::Role::operation))
    return choice_sql(*flags);
  const store::ColumnInfo* call = table.column(schema::Role::call);
  CaseSql sql(call ? cast_sql(*call, "VARCHAR") : "");
  const std::string_view name = schema::class_name(table.name, table.layer);
  bool is_constant = true;
  for (const schema::CallClass& row : schema::kCallClasses)
    if (call && row.event == table.name && row.name != name) {
      sql.when(sql_literal(row.call), row.name);
      is_constant = false;
    }
  return is_constant ? sql_literal(name) : sql.otherwise(name);
}

void add_all_events(LazyRelations& definitions, const store::TraceReader& reader, Tables tables) {
  const store::TableInfo* paths = find_table(tables, "async_path");
  const bool has_paths = paths != nullptr && reader.has_rows(paths->kind);
  std::vector<std::string> parts;
  std::string without_rows;
  for (const store::TableInfo& table : tables) {
    if (table.is_dictionary())
      continue;
    const bool takes_paths = has_paths && table.name == "async_operation";
    if (reader.has_rows(table.kind))
      parts.push_back(
          event_rows_sql(takes_paths ? rows_with_paths(table, *paths) : rows_alone(table)));
    else
      without_rows = event_rows_sql(rows_alone(table));
  }
  if (parts.empty() && !without_rows.empty())
    parts.push_back(without_rows);
  const std::string select = fmt::format("all_events AS\n{};\n", fmt::join(parts, "\nUNION ALL\n"));
  if (!is_large(reader))
    definitions.add("the table all_events", "CREATE TABLE " + select, "CREATE VIEW " + select);
  else
    definitions.add("the view all_events", "CREATE VIEW " + select);
}

} // namespace iotrail::analysis
