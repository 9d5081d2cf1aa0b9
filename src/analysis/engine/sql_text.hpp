// SPDX-License-Identifier: BSD-3-Clause
//
// Text inside SQL. Names and values of a trace may hold any bytes: all go through these functions
// before they enter a statement.
#pragma once

#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace iotrail::analysis {

namespace detail {
inline std::string enclosed(std::string_view text, char quote) {
  std::string result(1, quote);
  for (const char c : text) {
    result += c;
    if (c == quote)
      result += quote;
  }
  return result + quote;
}
} // namespace detail

// 'it''s'; the engine reads a statement up to a NUL, so that each is put in by its number. One list
// has all parts: a chain of || would nest as deep as a trace from a stranger has NULs.
inline std::string sql_literal(std::string_view text) {
  if (!text.contains('\0'))
    return detail::enclosed(text, '\'');
  std::string parts;
  for (const auto part : std::views::split(text, '\0'))
    parts += (parts.empty() ? "" : ",") + detail::enclosed(std::string_view(part), '\'');
  return "array_to_string([" + parts + "], chr(0))";
}

// "offset": also for names that are words of the language
inline std::string sql_name(std::string_view name) {
  return detail::enclosed(name, '"');
}

// A table with its rows, inserted by one statement: each statement costs more than a hundred rows.
inline std::string table_sql(std::string_view name, std::string_view columns,
                             const std::vector<std::string>& rows) {
  std::string sql = fmt::format("CREATE TABLE {} ({});\n", name, columns);
  if (!rows.empty())
    sql += fmt::format("INSERT INTO {} VALUES ({});\n", name, fmt::join(rows, "), ("));
  return sql;
}

} // namespace iotrail::analysis
