// SPDX-License-Identifier: BSD-3-Clause
//
// Text that fits: how much room there is, and what is left of a text that has too little. Widths are in code points.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace iotrail::output {

inline constexpr std::size_t kPlainWidth = 80; // where nobody tells
inline constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();

// Of the terminal that `fd` is (COLUMNS, else what the terminal says); 80 of what is none.
std::size_t terminal_width(int fd);

// Width on a terminal, as far as it is known: code points of UTF-8.
std::size_t display_width(std::string_view text);

// "/usr/lib/...sqlite3.so": what tells paths apart is at both ends.
std::string shortened_middle(std::string_view text, std::size_t width);
// "sqlite3 shop.db ..."
std::string shortened_end(std::string_view text, std::size_t width);

// A fact of a manifest, which may be of any length: as much of it as somebody reads, and more where `width` is kAnyWidth. JSON
// has it whole.
std::string shortened_fact(std::string_view text, std::size_t width);

// Lines of whole words, each at most `width` wide unless one word is longer. A number stays with its unit, and a command of
// iotrail whole where a line has room for it. At least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

} // namespace iotrail::output
