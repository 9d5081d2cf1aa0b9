// SPDX-License-Identifier: BSD-3-Clause
//
// Names of files, programs and traces are chosen by others: in text for people they must neither break a line nor give
// orders to the terminal, nor be shown in another order than they have. Whatever prints a text of a trace for people does
// it through printable(); JSON quotes by rules of its own, CSV does where it goes to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace iotrail::output {

// Control characters, those that cannot be seen or turn the direction of writing, and bytes that are not UTF-8 as \x0a, byte
// by byte; other text as it is.
std::string printable(std::string_view text);
// The same, but for line ends: for messages that have several lines.
std::string printable_lines(std::string_view text);

bool is_printable(std::string_view text); // printable() would change nothing

} // namespace iotrail::output
