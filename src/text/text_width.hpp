// SPDX-License-Identifier: BSD-3-Clause
//
// Text that fits: the available width, and shortened or wrapped text. Widths are in code points.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iotrail::output {

inline constexpr std::size_t kPlainWidth = 80; // if unknown
inline constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();

// Width for text that people read from `fd`: COLUMNS, else as reported by the terminal; 80 if it is
// none.
std::size_t terminal_width(int fd);

// Lines of the terminal `fd`; kAnyHeight if it is none, or does not say.
inline constexpr std::size_t kAnyHeight = std::numeric_limits<std::size_t>::max();
std::size_t terminal_height(int fd);

// Width on a terminal, approximated by UTF-8 code points.
std::size_t display_width(std::string_view text);

// "/usr/lib/...sqlite3.so": paths differ at both ends.
std::string shortened_middle(std::string_view text, std::size_t width);
// The same for each text. Different texts stay different if a cut at another place can do that:
// "...2024/events.log...", from where they begin to differ.
std::vector<std::string> shortened_apart(std::span<const std::string> texts, std::size_t width);
// "sqlite3 shop.db ..."
std::string shortened_end(std::string_view text, std::size_t width);

// A fact of a manifest, which may be of any length: cut to 4,000 code points, or to 32,000 if
// `width` is kAnyWidth. JSON has it in full.
std::string shortened_fact(std::string_view text, std::size_t width);

// Lines of whole words, each at most `width` wide unless one word is longer. Keeps a number with
// its unit, and a command of iotrail on one line if it fits. At least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
// The same, but a longer word is broken: behind one of its marks ("jbd2_log_", "wait_commit") if it
// can be.
std::vector<std::string> folded(std::string_view text, std::size_t width);

} // namespace iotrail::output
