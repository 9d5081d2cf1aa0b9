// SPDX-License-Identifier: BSD-3-Clause
//
// Text from others, such as names of files, need not be UTF-8.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace iotrail {

inline constexpr char32_t kNoCharacter = ~char32_t{0};

struct Character {
  char32_t code = kNoCharacter;
  std::size_t bytes = 1;
};

// The first character of `text`, which is not empty; kNoCharacter: its first byte begins none.
inline Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80)
    return {lead, 1};
  const auto is_continuation = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
  };
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes ||
      !std::ranges::all_of(text.substr(1, bytes - 1), is_continuation))
    return {};
  char32_t code = lead & (0xffU >> (bytes + 1));
  for (const char c : text.substr(1, bytes - 1))
    code = code << 6U | (static_cast<unsigned char>(c) & 0x3fU);
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000}; // by bytes: no longer form is valid
  const bool is_half_of_pair = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[bytes] || code > 0x10ffff || is_half_of_pair ? Character{}
                                                                    : Character{code, bytes};
}

// Each byte as \x0a.
inline void append_escaped(std::string& to, std::string_view bytes) {
  for (const char c : bytes)
    fmt::format_to(std::back_inserter(to), "\\x{:02x}", static_cast<unsigned char>(c));
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.code == kNoCharacter)
      return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

// Whether `text` begins like an escaped byte.
inline bool looks_escaped(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() >= 4 && text.starts_with("\\x") && is_digit(text[2]) && is_digit(text[3]);
}

// Escapes bytes that are not UTF-8, and the backslash of text that looks like an escape: different
// texts stay different.
inline std::string as_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (code == kNoCharacter || looks_escaped(text))
      append_escaped(valid, text.substr(0, bytes));
    else
      valid += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return valid;
}

} // namespace iotrail
