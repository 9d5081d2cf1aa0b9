// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace iotrail::output {

// A text as the cell of a Markdown table; escapes the bar, which would end the cell.
inline std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|')
      cell += '\\';
    cell += c;
  }
  return cell;
}

} // namespace iotrail::output
