// SPDX-License-Identifier: BSD-3-Clause
#include "cli/console.hpp"

#include <unistd.h>

#include "text/text_width.hpp"

namespace iotrail::cli {

bool Stream::is_terminal() const {
  return fixed_width != 0 || ::isatty(::fileno(file)) == 1;
}

std::size_t Stream::width() const {
  return fixed_width != 0 ? fixed_width : output::terminal_width(::fileno(file));
}

std::size_t Stream::height() const {
  return output::terminal_height(::fileno(file));
}

std::size_t Stream::terminal_width() const {
  return is_terminal() ? width() : output::kAnyWidth;
}

} // namespace iotrail::cli
