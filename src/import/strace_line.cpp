// SPDX-License-Identifier: BSD-3-Clause
#include "import/strace_line.hpp"

#include <cstring>
#include <map>

#include "import/numbers.hpp"

namespace iotrail::import {
namespace {

constexpr std::size_t kArgumentsMost = 64;
constexpr int kErrnoMost = 4095;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

// Position behind the quoted text that begins at `at`.
std::size_t after_quotes(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\')
      ++at;
  return std::min(at + 1, text.size());
}

// Position behind the name in angle brackets that begins at `at`. "->" within it ends nothing.
std::size_t after_angle(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '<')
      ++depth;
    else if (text[at] == '>' && text[at - 1] != '-' && --depth == 0)
      return at + 1;
  }
  return text.size();
}

// A name stands right behind a number, or behind AT_FDCWD. "1<<CAP_CHOWN" has none.
bool begins_name(std::string_view text, std::size_t at) {
  return text[at] == '<' && at > 0 && (is_digit(text[at - 1]) || text[at - 1] == 'D') &&
         at + 1 < text.size() && text[at + 1] != '<';
}

// Position behind one element of the text: a quoted text, a name, a comment, or a letter.
std::size_t after_element(std::string_view text, std::size_t at) {
  if (text[at] == '"')
    return after_quotes(text, at);
  if (begins_name(text, at))
    return after_angle(text, at);
  if (text.substr(at).starts_with("/*")) {
    const std::size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  return at + 1;
}

// The arguments up to the parenthesis that ends them; returns the position behind it, or npos.
std::size_t take_arguments(std::string_view text, std::vector<std::string_view>& arguments) {
  int depth = 0;
  std::size_t begin = 0;
  const auto end_argument = [&](std::size_t end) {
    if (const auto argument = trimmed(text.substr(begin, end - begin));
        !argument.empty() && arguments.size() < kArgumentsMost)
      arguments.push_back(argument);
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '(' || c == '[' || c == '{')
      ++depth;
    if (c == ')' && depth == 0) {
      end_argument(at);
      return at + 1;
    }
    if ((c == ')' || c == ']' || c == '}') && depth > 0)
      --depth;
    if (c == ',' && depth == 0) {
      end_argument(at);
      begin = at + 1;
    }
    at = after_element(text, at);
  }
  return std::string_view::npos;
}

// " <0.000012>" at the end, which `text` loses.
std::uint64_t take_duration(std::string_view& text) {
  const std::size_t begin = text.rfind(" <");
  if (!text.ends_with('>') || begin == std::string_view::npos)
    return 0;
  const auto ns = to_ns(text.substr(begin + 2, text.size() - begin - 3));
  if (ns)
    text = text.substr(0, begin);
  return ns.value_or(0);
}

// "-1 ENOENT (No such file or directory)", "3</tmp/x>", "0x7f12", "?".
bool take_result(std::string_view text, StraceCall& call) {
  text = trimmed(text);
  call.duration_ns = take_duration(text);
  if (text.starts_with('?')) {
    text.remove_prefix(1);
    const std::string_view word = take_word(text);
    call.error = word.starts_with('E') ? word : "";
    return true;
  }
  const auto number = strace_number(text);
  if (!number)
    return false;
  call.has_result = true;
  call.result = *number;
  const std::size_t blank = text.find(' ');
  if (number->number == -1 && blank != std::string_view::npos) {
    text.remove_prefix(blank);
    const std::string_view word = take_word(text);
    call.error = word.starts_with('E') ? word : "";
  }
  return true;
}

} // namespace

std::optional<StraceLine> strace_line(std::string_view line) {
  StraceLine parsed;
  std::string_view word = take_word(line);
  if (word == "[pid") {
    word = take_word(line);
    if (!word.ends_with(']'))
      return std::nullopt;
    word.remove_suffix(1);
  }
  if (word.find('.') == std::string_view::npos) {
    const auto tid = to_number<std::uint32_t>(word);
    if (!tid)
      return std::nullopt;
    parsed.tid = *tid;
    word = take_word(line);
  }
  const auto at_ns = to_ns(word);
  if (!at_ns || word.find('.') == std::string_view::npos)
    return std::nullopt;
  parsed.at_ns = *at_ns;
  parsed.rest = trimmed(line);
  return parsed;
}

std::optional<StraceNumber> strace_number(std::string_view text) {
  StraceNumber parsed;
  std::size_t digits = text.starts_with('-') ? 1 : 0;
  const bool is_hexadecimal = text.starts_with("0x");
  if (text.starts_with("AT_FDCWD"))
    digits = 8;
  else if (is_hexadecimal)
    digits = text.find_first_not_of("0123456789abcdef", 2);
  else
    digits = text.find_first_not_of("0123456789", digits);
  digits = std::min(digits, text.size());
  const auto number = text.starts_with("AT_FDCWD") ? std::optional<std::uint64_t>(-100)
                      : is_hexadecimal             ? to_number(text.substr(2, digits - 2), 16)
                      : text.starts_with('-')      ? to_c_number(text.substr(0, digits))
                                                   : to_number(text.substr(0, digits));
  if (!number)
    return std::nullopt;
  parsed.number = static_cast<std::int64_t>(*number);
  if (digits < text.size() && text[digits] == '<')
    parsed.name = text.substr(digits + 1, after_angle(text, digits) - digits - 2);
  return parsed;
}

std::optional<StraceCall> strace_call(std::string_view text) {
  StraceCall call;
  std::size_t name_end = 0;
  while (name_end < text.size() && is_name_letter(text[name_end]))
    ++name_end;
  if (name_end == 0 || name_end == text.size() || text[name_end] != '(')
    return std::nullopt;
  call.name = text.substr(0, name_end);
  text.remove_prefix(name_end + 1);
  const std::size_t end = take_arguments(text, call.arguments);
  if (end == std::string_view::npos)
    return std::nullopt;
  const std::string_view result = trimmed(text.substr(end));
  if (!result.starts_with("= ") || !take_result(result.substr(2), call))
    return std::nullopt;
  return call;
}

// Reads one escape sequence behind the backslash at `at`, and returns the position behind it.
static std::size_t unescape(std::string_view text, std::size_t at, std::string& to) {
  constexpr std::string_view kLetters = "ntrvf";
  constexpr std::string_view kMeanings = "\n\t\r\v\f";
  if (at >= text.size())
    return at;
  if (const std::size_t letter = kLetters.find(text[at]); letter != std::string_view::npos) {
    to += kMeanings[letter];
    return at + 1;
  }
  const bool is_hexadecimal = text[at] == 'x';
  const std::size_t begin = at + (is_hexadecimal ? 1 : 0);
  std::size_t end = begin;
  const std::string_view digits = is_hexadecimal ? "0123456789abcdefABCDEF" : "01234567";
  while (end < text.size() && end < begin + (is_hexadecimal ? 2 : 3) &&
         digits.find(text[end]) != std::string_view::npos)
    ++end;
  if (end == begin) {
    to += text[at];
    return at + 1;
  }
  to += static_cast<char>(
      to_number<unsigned>(text.substr(begin, end - begin), is_hexadecimal ? 16 : 8).value_or('?'));
  return end;
}

std::string strace_text(std::string_view argument) {
  std::string text;
  const std::size_t begin = argument.find('"');
  if (begin == std::string_view::npos)
    return text;
  for (std::size_t at = begin + 1; at < argument.size() && argument[at] != '"';)
    if (argument[at] == '\\') {
      at = unescape(argument, at + 1, text);
    } else {
      text += argument[at++];
    }
  return text;
}

std::string strace_name(std::string_view name) {
  std::string text;
  for (std::size_t at = 0; at < name.size() && name[at] != '<';)
    if (name[at] == '\\') {
      at = unescape(name, at + 1, text);
    } else {
      text += name[at++];
    }
  return text;
}

int errno_of_name(std::string_view name) {
  static const std::map<std::string_view, int> kNumbers = [] {
    std::map<std::string_view, int> numbers;
    for (int code = 1; code < kErrnoMost; ++code)
      if (const char* known = ::strerrorname_np(code))
        numbers.emplace(known, code);
    return numbers;
  }();
  const auto found = kNumbers.find(name);
  return found == kNumbers.end() ? 0 : found->second;
}

} // namespace iotrail::import
