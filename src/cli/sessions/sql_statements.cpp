// SPDX-License-Identifier: BSD-3-Clause
#include "cli/sessions/sql_statements.hpp"

#include <cctype>

namespace iotrail::cli {
namespace {

constexpr std::size_t kMostBytes = 1U << 20U; // of a statement

enum class Inside { code, text, name, line_comment, block_comment };

// Neither code nor the begin of it: no statement begins with a sign of comments.
bool is_blank_at(Inside inside, char now) {
  return inside == Inside::line_comment || inside == Inside::block_comment || now == '-' ||
         now == '/' || now == '*' || std::isspace(static_cast<unsigned char>(now)) != 0;
}

// Where the text is after the character `now`.
Inside after(Inside inside, char before, char now) {
  switch (inside) {
  case Inside::code:
    if (now == '\'')
      return Inside::text;
    if (now == '"')
      return Inside::name;
    if (now == '-' && before == '-')
      return Inside::line_comment;
    return now == '*' && before == '/' ? Inside::block_comment : Inside::code;
  case Inside::text: // a doubled quote ends it and begins another one
    return now == '\'' ? Inside::code : inside;
  case Inside::name:
    return now == '"' ? Inside::code : inside;
  case Inside::line_comment:
    return now == '\n' ? Inside::code : inside;
  case Inside::block_comment:
    return now == '/' && before == '*' ? Inside::code : inside;
  }
  return inside;
}

} // namespace

Result<std::optional<std::string>> SqlStatements::next() {
  std::string statement;
  Inside inside = Inside::code;
  bool is_blank = true;
  for (int read = std::getc(file_); read != EOF; read = std::getc(file_)) {
    const char now = static_cast<char>(read);
    if (now == ';' && inside == Inside::code) {
      if (!is_blank)
        return statement;
      statement.clear();
      continue;
    }
    if (statement.size() == kMostBytes)
      return fail("cannot read the statements", "one is longer than 1 MiB",
                  "A semicolon ends a statement.");
    is_blank = is_blank && is_blank_at(inside, now);
    inside = after(inside, statement.empty() ? '\0' : statement.back(), now);
    statement.push_back(now);
  }
  if (std::ferror(file_) != 0)
    return fail_errno("cannot read the statements");
  return is_blank ? std::nullopt : std::optional(std::move(statement));
}

} // namespace iotrail::cli
