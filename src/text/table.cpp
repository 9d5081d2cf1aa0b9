// SPDX-License-Identifier: BSD-3-Clause
#include "text/table.hpp"

#include <algorithm>

#include "text/printable.hpp"

namespace iotrail::output {

namespace {

// Minimum useful width of a cell.
std::size_t least_of(Fit fit) {
  switch (fit) {
  case Fit::whole:
    return kAnyWidth;
  case Fit::middle:
    return 28;
  case Fit::end:
  case Fit::fold:
    return 16;
  case Fit::wrap:
    return 40;
  }
  return kAnyWidth;
}

std::vector<std::string> lines_of(const std::string& cell, Fit fit, std::size_t width) {
  switch (fit) {
  case Fit::whole:
  case Fit::middle: // shortened already, apart from those of other rows
    return {cell};
  case Fit::end:
    return {shortened_end(cell, width)};
  case Fit::wrap:
    return wrapped(cell, width);
  case Fit::fold:
    return folded(cell, width);
  }
  return {cell};
}

void shorten_column(std::vector<std::vector<std::string>>& rows, std::size_t column,
                    std::size_t width) {
  std::vector<std::string> texts;
  for (const auto& row : rows)
    texts.push_back(row[column]);
  texts = shortened_apart(texts, width);
  for (std::size_t row = 0; row < rows.size(); ++row)
    rows[row][column] = std::move(texts[row]);
}

} // namespace

std::string line_of(std::span<const std::string> cells, std::span<const std::size_t> widths,
                    const std::function<Align(std::size_t)>& align_of) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0)
      line += kColumnGap;
    line += padded(cells[i], widths[i], align_of(i));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Columns are dropped only after all that can shrink have their minimum width.
std::vector<std::size_t> columns_shown(std::span<const TextTable::Column> columns,
                                       std::span<const std::size_t> widths, std::size_t room) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < columns.size(); ++i)
    shown.push_back(i);
  const auto least_width = [&](std::size_t i) {
    return std::min(widths[i], least_of(columns[i].fit));
  };
  for (;;) {
    std::size_t total = shown.empty() ? 0 : (shown.size() - 1) * kColumnGap.size();
    for (const std::size_t i : shown)
      total += least_width(i);
    const auto least =
        std::ranges::max_element(shown, {}, [&](std::size_t i) { return columns[i].rank; });
    if (total <= room || least == shown.end() || columns[*least].rank == 0)
      return shown;
    shown.erase(least);
  }
}

// Columns that can shrink share the room, the narrowest first: each passes on what it does not
// need.
std::vector<std::size_t> fitted(std::span<const TextTable::Column> columns,
                                std::vector<std::size_t> widths, std::span<const std::size_t> shown,
                                std::size_t room) {
  std::vector<std::size_t> flexible;
  std::size_t used = shown.empty() ? 0 : (shown.size() - 1) * kColumnGap.size();
  for (const std::size_t i : shown)
    if (columns[i].fit == Fit::whole)
      used += widths[i];
    else
      flexible.push_back(i);
  std::size_t left = room > used ? room - used : 0;
  std::ranges::sort(flexible, {}, [&](std::size_t i) { return widths[i]; });
  for (std::size_t n = 0; n < flexible.size(); ++n) {
    std::size_t& width = widths[flexible[n]];
    width = std::min(width, std::max(left / (flexible.size() - n), kLeastColumnWidth));
    left -= std::min(left, width);
  }
  return widths;
}

std::string padded(std::string_view text, std::size_t width, Align align) {
  const std::size_t used = display_width(text);
  const std::string blanks(used < width ? width - used : 0, ' ');
  return align == Align::left ? std::string(text) + blanks : blanks + std::string(text);
}

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells)
    cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::natural_widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(display_width(columns_[i].title));
    for (const auto& row : rows_)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

void TextTable::print_row(Sink& sink, std::string_view indent, const std::vector<std::string>& row,
                          std::span<const std::size_t> shown,
                          std::span<const std::size_t> widths) const {
  std::vector<std::vector<std::string>> cells; // the lines of each
  std::vector<std::size_t> cell_widths;
  std::size_t height = 1;
  for (const std::size_t i : shown) {
    cell_widths.push_back(widths[i]);
    cells.push_back(lines_of(row[i], columns_[i].fit, widths[i]));
    height = std::max(height, cells.back().size());
  }
  const auto align_of = [&](std::size_t n) { return columns_[shown[n]].align; };
  for (std::size_t n = 0; n < height; ++n) {
    std::vector<std::string> line;
    for (const std::vector<std::string>& lines : cells)
      line.push_back(n < lines.size() ? lines[n] : "");
    sink.print("{}{}\n", indent, line_of(line, cell_widths, align_of));
  }
}

std::vector<std::size_t> TextTable::print(Sink& sink, std::string_view indent,
                                          std::size_t width) const {
  const std::size_t room = width > indent.size() ? width - indent.size() : 0;
  const std::vector<std::size_t> natural = natural_widths();
  const std::vector<std::size_t> shown = columns_shown(columns_, natural, room);
  const std::vector<std::size_t> widths = fitted(columns_, natural, shown, room);
  std::vector<std::string> titles;
  for (const Column& column : columns_)
    titles.push_back(column.title);
  print_row(sink, indent, titles, shown, widths);
  std::vector<std::vector<std::string>> rows = rows_;
  for (const std::size_t i : shown)
    if (columns_[i].fit == Fit::middle)
      shorten_column(rows, i, widths[i]);
  for (const auto& row : rows)
    print_row(sink, indent, row, shown, widths);
  return shown;
}

} // namespace iotrail::output
