// SPDX-License-Identifier: BSD-3-Clause
//
// Aligned columns of a small table in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/sink.hpp"
#include "text/text_width.hpp"

namespace iotrail::output {

enum class Align : std::uint8_t { left, right };

inline constexpr std::string_view kColumnGap = "  ";
inline constexpr std::size_t kLeastColumnWidth = 12; // on the narrowest terminal

// `text` padded with blanks to `width` code points.
std::string padded(std::string_view text, std::size_t width, Align align);

// How cells adapt to a column that is too narrow.
enum class Fit : std::uint8_t {
  whole,  // unchanged
  middle, // shortened in the middle: paths
  end,    // shortened at the end: commands
  wrap,   // continued below: sentences
  fold,   // the same of a few words, and breaks long ones: labels
};

class TextTable {
public:
  struct Column {
    std::string title;
    Align align;
    Fit fit = Fit::whole;
    int rank = 0; // if room is short, the highest rank is dropped first; 0: never
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells); // one per column
  bool is_empty() const { return rows_.empty(); }
  // Lines of at most `width`, if columns can shrink or be dropped enough. Returns the numbers of the
  // columns that it printed.
  std::vector<std::size_t> print(Sink& sink, std::string_view indent,
                                 std::size_t width = kAnyWidth) const;

private:
  std::vector<std::size_t> natural_widths() const;
  void print_row(Sink& sink, std::string_view indent, const std::vector<std::string>& row,
                 std::span<const std::size_t> shown, std::span<const std::size_t> widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The layout of a table, for code that prints rows one by one. The columns that have room, after
// dropping those of the highest rank first;
std::vector<std::size_t> columns_shown(std::span<const TextTable::Column> columns,
                                       std::span<const std::size_t> widths, std::size_t room);
// the widths of all columns; those shown share `room`;
std::vector<std::size_t> fitted(std::span<const TextTable::Column> columns,
                                std::vector<std::size_t> widths, std::span<const std::size_t> shown,
                                std::size_t room);
// and one line. The last column is not padded: no line ends in blanks.
std::string line_of(std::span<const std::string> cells, std::span<const std::size_t> widths,
                    const std::function<Align(std::size_t)>& align_of);

} // namespace iotrail::output
