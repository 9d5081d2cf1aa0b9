// SPDX-License-Identifier: BSD-3-Clause
#include "output/printable.hpp"

#include <iterator>

#include <fmt/format.h>

namespace iotrail::output {

namespace {

// Bytes of the control character that `text` begins with; 0: it begins with another one. U+0080 to U+009F count as
// well: terminals take U+009B for ESC [.
std::size_t control_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x20 || byte(0) == 0x7f)
    return 1;
  return byte(0) == 0xc2 && text.size() > 1 && byte(1) >= 0x80 && byte(1) < 0xa0 ? 2 : 0;
}

} // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t escaped = control_bytes(text);
    for (const char c : text.substr(0, escaped))
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned char>(c));
    if (escaped == 0)
      shown += text.front();
    text.remove_prefix(escaped == 0 ? 1 : escaped);
  }
  return shown;
}

} // namespace iotrail::output
