// SPDX-License-Identifier: BSD-3-Clause
//
// Messages on stderr. On a terminal they are wrapped where it ends; elsewhere (logs, scripts) a line stays one line.
#pragma once

#include <cstddef>
#include <string_view>

namespace iotrail::cli {

// Printable text of one or more lines. What a line goes on with stands two blanks further in than it began.
void tell(std::string_view text);
// The same at any width: for a summary, which people read wherever it goes.
void tell(std::string_view text, std::size_t width);

} // namespace iotrail::cli
