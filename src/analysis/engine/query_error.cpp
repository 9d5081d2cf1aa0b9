// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/query_error.hpp"

#include <algorithm>
#include <optional>

#include <fmt/ranges.h>

#include "base/nearest_name.hpp"

namespace iotrail::analysis {
namespace {

constexpr std::string_view kError = " Error: ";
constexpr std::string_view kLine = "\n\nLINE ";
constexpr std::string_view kDescribe = "`iotrail query TRACE --describe NAME` lists columns.";
constexpr std::string_view kTables = "`iotrail query TRACE --tables` lists them all.";

// The text between the two; nullopt: there is no such text.
std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after) {
  const auto begin = text.find(before);
  if (begin == text.npos)
    return std::nullopt;
  text.remove_prefix(begin + before.size());
  const auto end = text.find(after);
  return end == text.npos ? std::nullopt : std::optional(text.substr(0, end));
}

std::vector<std::string_view> quoted_names(std::string_view text) {
  std::vector<std::string_view> names;
  while (const auto name = between(text, "\"", "\"")) {
    names.push_back(*name);
    text.remove_prefix(static_cast<std::size_t>(name->data() - text.data()) + name->size() + 1);
  }
  return names;
}

std::string joined(std::string first, std::string_view second) {
  return first.empty() ? std::string(second) : first.append(" ").append(second);
}

// What the engine says, in parts.
struct Message {
  std::string_view reason; // "Referenced column "x" not found in FROM clause!"
  std::string_view more;   // candidates
  std::string_view place;  // the line of the query, with a mark below; empty: unknown
};

Message parts_of(std::string_view why) {
  Message message;
  if (const auto end = why.find(kError); end < why.find('\n'))
    why.remove_prefix(end + kError.size());
  if (const auto line = why.find(kLine); line != why.npos) {
    message.place = why.substr(line);
    why = why.substr(0, line);
  }
  const auto end = std::min(why.find('\n'), why.size());
  message.reason = why.substr(0, end);
  message.more = why.substr(end);
  return message;
}

struct Plain {
  std::string why;
  std::string hint;
};

std::optional<Plain> missing_relation(const Message& message,
                                      const std::vector<std::string_view>& relations) {
  const auto name = between(message.reason, "Table with name ", " does not exist");
  if (!name)
    return std::nullopt;
  return Plain{fmt::format("there is no table or view '{}'", *name),
               joined(did_you_mean(*name, relations), kTables)};
}

std::optional<Plain> missing_column(const Message& message) {
  auto name = between(message.reason, "Referenced column \"", "\" not found");
  if (!name)
    name = between(message.reason, "does not have a column named \"", "\"");
  if (!name)
    return std::nullopt;
  const auto near = quoted_names(message.more);
  std::string hint = did_you_mean(*name, near);
  if (hint.empty() && !near.empty())
    hint = fmt::format("Columns there: {}.", fmt::join(near, ", "));
  return Plain{fmt::format("there is no column '{}'", *name), joined(std::move(hint), kDescribe)};
}

std::optional<Plain> missing_function(const Message& message) {
  const auto name = between(message.reason, "Function with name ", " does not exist");
  if (!name)
    return std::nullopt;
  return Plain{fmt::format("there is no function '{}'", *name),
               joined(did_you_mean(*name, quoted_names(message.more)), kTables)};
}

std::optional<Plain> wrong_syntax(const Message& message) {
  if (const auto word = between(message.reason, "syntax error at or near \"", "\""))
    return Plain{fmt::format("its SQL is wrong at or before '{}'", *word), ""};
  if (message.reason.starts_with("syntax error at end of input"))
    return Plain{"its SQL ends too early", ""};
  return std::nullopt;
}

} // namespace

void make_plain(Error& error, const std::vector<std::string_view>& relations) {
  const Message message = parts_of(error.why);
  auto plain = missing_relation(message, relations);
  if (!plain)
    plain = missing_column(message);
  if (!plain)
    plain = missing_function(message);
  if (!plain)
    plain = wrong_syntax(message);
  if (!plain)
    plain = Plain{std::string(message.reason).append(message.more), ""};
  std::string why = plain->why.append(message.place);
  error.why = std::move(why); // which the parts refer to
  if (error.hint.empty())
    error.hint = std::move(plain->hint);
}

} // namespace iotrail::analysis
