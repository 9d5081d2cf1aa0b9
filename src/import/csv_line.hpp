// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of a line of CSV. A part in quotes may have commas, and quotes that stand twice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iotrail::import {

inline std::vector<std::string> csv_parts(std::string_view line) {
  std::vector<std::string> parts(1);
  bool is_quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '"' && is_quoted && at + 1 < line.size() && line[at + 1] == '"')
      parts.back() += line[++at];
    else if (c == '"')
      is_quoted = !is_quoted;
    else if (c == ',' && !is_quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

} // namespace iotrail::import
