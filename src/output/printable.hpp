// SPDX-License-Identifier: BSD-3-Clause
//
// Names of files, programs and traces are chosen by others: in text for people they must neither break a line nor give
// orders to the terminal. CSV and JSON quote by rules of their own.
#pragma once

#include <string>
#include <string_view>

namespace iotrail::output {

// Control characters as \x0a, byte by byte; other text as it is.
std::string printable(std::string_view text);

} // namespace iotrail::output
