// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/hidden_characters.hpp"
#include "base/utf8.hpp"

namespace iotrail {

// A name as one word of a command line that people copy into a shell. Nothing in it is executed or
// replaced. Characters that cannot be seen or copied are written as in $'a\x1bb', which bash, zsh
// and ksh read.
inline std::string shell_word(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("_-./:,@%+=").contains(c) || static_cast<unsigned char>(c) >= 0x80;
  };
  bool has_hidden = false;
  std::string quoted;
  std::string escaped;
  for (std::string_view rest = name; !rest.empty();) {
    const auto [code, bytes] = first_character(rest);
    const std::string_view character = rest.substr(0, bytes);
    quoted += character == "'" ? "'\\''" : character;
    if (is_hidden(code)) {
      has_hidden = true;
      append_escaped(escaped, character);
    } else {
      escaped += character == "'" || character == "\\" ? "\\" : "";
      escaped += character;
    }
    rest.remove_prefix(bytes);
  }
  if (has_hidden)
    return "$'" + escaped + "'";
  if (!name.empty() && name.front() != '=' && std::ranges::all_of(name, is_plain)) // zsh: =ls
    return std::string(name);
  return "'" + quoted + "'";
}

} // namespace iotrail
