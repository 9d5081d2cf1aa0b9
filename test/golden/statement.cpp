// SPDX-License-Identifier: BSD-3-Clause
#include "statement.hpp"

#include <cstring>
#include <ranges>

#include "value_text.hpp"

namespace iotrail::golden {

namespace {

constexpr int kErrnoMax = 133;

std::optional<std::uint64_t> plain_number(std::string_view text) {
  if (text.empty() || !(text[0] == '-' || (text[0] >= '0' && text[0] <= '9')))
    return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const std::uint64_t number = text[0] == '-'
                                   ? static_cast<std::uint64_t>(std::strtoll(copy.c_str(), &end, 0))
                                   : std::strtoull(copy.c_str(), &end, 0);
  if (errno != 0 || *end != '\0')
    return std::nullopt;
  return number;
}

std::optional<std::uint64_t> errno_number(std::string_view text) {
  if (!text.starts_with("-E"))
    return std::nullopt;
  for (int code = 1; code <= kErrnoMax; ++code)
    if (const char* name = strerrorname_np(code); name && text.substr(1) == name)
      return static_cast<std::uint64_t>(-static_cast<std::int64_t>(code));
  return std::nullopt;
}

std::optional<std::uint64_t> device_number(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos)
    return std::nullopt;
  const auto major = plain_number(text.substr(0, colon));
  const auto minor = plain_number(text.substr(colon + 1));
  if (!major || !minor)
    return std::nullopt;
  return IOT_DEVICE(*major, *minor);
}

std::optional<std::uint64_t> value_number(std::string_view table, std::string_view name) {
  if (table == "layer")
    for (const schema::LayerInfo& layer : schema::kLayers)
      if (layer.name == name)
        return static_cast<std::uint64_t>(layer.layer);
  if (table == "counter")
    for (const schema::Counter& counter : schema::kCounters)
      if (counter.name == name)
        return counter.id;
  if (table == "event")
    if (const schema::Event* event = schema::find_event(name))
      return event->id;
  for (const schema::Value& value : schema::kValues)
    if (value.name == name && (value.table == table || value.table == schema::bits_table(table)))
      return value.number;
  return std::nullopt;
}

std::optional<std::uint64_t> flags_number(std::string_view table, std::string_view text) {
  std::uint64_t flags = 0;
  for (const auto part : std::views::split(text, '|')) {
    const auto flag = value_number(table, std::string_view(part.begin(), part.end()));
    if (!flag)
      return std::nullopt;
    flags |= *flag;
  }
  return flags;
}

std::optional<std::uint64_t> number_of(std::string_view text, schema::Meaning meaning) {
  if (meaning == schema::Meaning::device)
    if (const auto device = device_number(text))
      return device;
  if (const auto number = plain_number(text))
    return number;
  if (const auto code = errno_number(text))
    return code;
  const std::string_view table = schema::value_table(meaning);
  return schema::is_flag_set(meaning) ? flags_number(table, text) : value_number(table, text);
}

// Removes one value from the begin of `line`.
Result<std::string> take_value(std::string_view& line) {
  std::string value;
  if (!line.starts_with('"')) {
    const auto end = std::min(line.find(' '), line.size());
    value = line.substr(0, end);
    line.remove_prefix(end);
    return value;
  }
  line.remove_prefix(1);
  while (!line.empty() && line[0] != '"') {
    if (line[0] == '\\' && line.size() > 1) {
      line.remove_prefix(1);
      value += line[0] == 'n' ? '\n' : line[0] == 't' ? '\t' : line[0];
    } else {
      value += line[0];
    }
    line.remove_prefix(1);
  }
  if (line.empty())
    return fail("a quotation mark is missing");
  line.remove_prefix(1);
  return value;
}

void skip_blanks(std::string_view& line) {
  while (line.starts_with(' '))
    line.remove_prefix(1);
}

} // namespace

const std::string& Statement::get(const std::string& name) const {
  static const std::string kNone;
  const auto found = values.find(name);
  return found == values.end() ? kNone : found->second;
}

Result<std::optional<Statement>> parse_statement(std::string_view line) {
  skip_blanks(line);
  if (line.empty() || line[0] == '#')
    return std::nullopt;
  Statement statement;
  const auto word_end = std::min(line.find(' '), line.size());
  statement.word = line.substr(0, word_end);
  line.remove_prefix(word_end);
  for (skip_blanks(line); !line.empty(); skip_blanks(line)) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos)
      return fail(fmt::format("'{}' is not name=value", line));
    const std::string name(line.substr(0, equals));
    line.remove_prefix(equals + 1);
    auto value = take_value(line);
    if (!value)
      return std::unexpected(value.error());
    statement.values[name] = std::move(*value);
  }
  return statement;
}

Result<std::uint64_t> parse_number(std::string_view text, schema::Meaning meaning) {
  if (const auto number = number_of(text, meaning))
    return *number;
  return fail(
      fmt::format("'{}' is no value of the meaning {}", text, schema::meaning_name(meaning)));
}

} // namespace iotrail::golden
