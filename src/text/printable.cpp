// SPDX-License-Identifier: BSD-3-Clause
#include "text/printable.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace iotrail::output {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Control characters, invisible format characters (Unicode's categories Cc and Cf), and characters
// that look blank. Names that differ must look different, and no text may send commands to a
// terminal.
constexpr Range kUnprintable[] = {
    {0x00, 0x1f},       // control characters
    {0x7f, 0x9f},       // and those that terminals treat as ESC and another: U+009B is ESC [
    {0xa0, 0xa0},       // blank that does not break
    {0xad, 0xad},       // soft hyphen
    {0x34f, 0x34f},     // joiner of marks
    {0x600, 0x605},     // signs around Arabic numbers
    {0x61c, 0x61c},     // direction mark
    {0x6dd, 0x6dd},     //
    {0x70f, 0x70f},     //
    {0x890, 0x891},     //
    {0x8e2, 0x8e2},     //
    {0x115f, 0x1160},   // fillers
    {0x1680, 0x1680},   // blank of Ogham
    {0x17b4, 0x17b5},   // vowels that are not shown
    {0x180b, 0x180f},   // variants, vowel separator
    {0x2000, 0x200f},   // blanks of any width, joiners, direction marks
    {0x2028, 0x202f},   // line and paragraph separators, embeddings, overrides, narrow blank
    {0x205f, 0x206f},   // blank, joiner, invisible operators, isolates
    {0x2800, 0x2800},   // Braille without dots
    {0x3000, 0x3000},   // wide blank
    {0x3164, 0x3164},   // filler
    {0xfe00, 0xfe0f},   // variants
    {0xfeff, 0xfeff},   // byte order mark
    {0xffa0, 0xffa0},   // filler
    {0xfff9, 0xfffb},   // annotation marks
    {0x110bd, 0x110bd}, //
    {0x110cd, 0x110cd}, //
    {0x13430, 0x1343f}, // placement of hieroglyphs
    {0x1bca0, 0x1bca3}, // shorthand
    {0x1d173, 0x1d17a}, // music
    {0xe0000, 0xe0fff}, // invisible tags
};

bool is_unprintable(char32_t code) {
  return std::ranges::any_of(
      kUnprintable, [&](const Range& range) { return code >= range.first && code <= range.last; });
}

std::string escaped(std::string_view text, bool keep_lines) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if ((code == kNoCharacter || is_unprintable(code)) && !(keep_lines && code == '\n'))
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

bool is_printable(std::string_view text) {
  return is_plain(text) || escaped(text, false) == text;
}

} // namespace iotrail::output
