// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace iotrail::output {

// Text as an element's content, or as an attribute's value in double quotes.
inline std::string escaped_html(std::string_view text) {
  std::string escaped;
  for (const char c : text)
    switch (c) {
    case '<':
      escaped += "&lt;";
      break;
    case '&':
      escaped += "&amp;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

} // namespace iotrail::output
