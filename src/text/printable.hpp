// SPDX-License-Identifier: BSD-3-Clause
//
// Others choose the names of files, programs and traces. In text for people such names must not
// break a line, send commands to the terminal, or change the direction of writing. All output for
// people passes texts of a trace through printable(). JSON quotes by its own rules; CSV does so
// only on a terminal.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iotrail::output {

// Escapes each byte as \x0a of control characters, invisible characters, direction marks and
// invalid UTF-8; other text is unchanged.
std::string printable(std::string_view text);
// The same except for line ends: for messages of several lines.
std::string printable_lines(std::string_view text);

// The message of an error. The texts in it may be the user's own, so that only the lines of a query
// and of the remedy stay lines.
std::string printable_message(const Error& error);

bool is_printable(std::string_view text); // printable() would change nothing

} // namespace iotrail::output
