// SPDX-License-Identifier: BSD-3-Clause
#include "text/printable.hpp"

#include <algorithm>

#include "base/hidden_characters.hpp"
#include "base/utf8.hpp"

namespace iotrail::output {

namespace {

std::string escaped(std::string_view text, bool keep_lines) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (is_hidden(code) && !(keep_lines && code == '\n'))
      append_escaped(shown, text.substr(0, bytes));
    else
      shown += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return shown;
}

// ASCII without control characters, like almost all text.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

} // namespace

std::string printable(std::string_view text) {
  return is_plain(text) ? std::string(text) : escaped(text, false);
}

std::string printable_lines(std::string_view text) {
  return is_plain(text) ? std::string(text) : escaped(text, true);
}

std::string printable_message(const Error& error) {
  std::string text = printable(error.what);
  if (!error.why.empty())
    text += ": " + (error.has_lines ? printable_lines(error.why) : printable(error.why));
  if (!error.hint.empty())
    text += "\n  " + printable_lines(error.hint);
  return text;
}

bool is_printable(std::string_view text) {
  return is_plain(text) || escaped(text, false) == text;
}

} // namespace iotrail::output
