// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace iotrail {

// A name as one word of a command line that people copy into a shell: nothing in it is executed or replaced.
inline std::string shell_word(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("_-./:,@%+=").contains(c) || static_cast<unsigned char>(c) >= 0x80;
  };
  if (!name.empty() && std::ranges::all_of(name, is_plain))
    return std::string(name);
  std::string word = "'";
  for (const char c : name)
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

} // namespace iotrail
