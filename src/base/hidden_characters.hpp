// SPDX-License-Identifier: BSD-3-Clause
//
// Characters that text for people must not have as they are.
#pragma once

#include <algorithm>

#include "base/utf8.hpp"

namespace iotrail {

struct CharacterRange {
  char32_t first;
  char32_t last;
};

// Control characters, invisible format characters (Unicode's categories Cc and Cf), and characters
// that look blank. Names that differ must look different, and no text may send commands to a
// terminal.
inline constexpr CharacterRange kHiddenCharacters[] = {
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

// Also true of what is no character.
inline bool is_hidden(char32_t code) {
  return code == kNoCharacter ||
         std::ranges::any_of(kHiddenCharacters, [&](const CharacterRange& range) {
           return code >= range.first && code <= range.last;
         });
}

} // namespace iotrail
