// SPDX-License-Identifier: BSD-3-Clause
#include "output/table.hpp"

#include <algorithm>

#include "output/printable.hpp"

namespace iotrail::output {

namespace {

// The last column is not padded: no line ends in blanks.
std::string line_of(std::span<const std::string> cells, std::span<const std::size_t> widths,
                    auto align_of) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0)
      line += "  ";
    line += padded(cells[i], widths[i], align_of(i));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

} // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
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

void TextTable::print(Sink& sink, std::string_view indent) const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    widths.push_back(display_width(columns_[i].title));
    for (const auto& row : rows_)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  const auto align_of = [&](std::size_t i) { return columns_[i].align; };
  sink.print("{}{}\n", indent, line_of(titles, widths, align_of));
  for (const auto& row : rows_)
    sink.print("{}{}\n", indent, line_of(row, widths, align_of));
}

void TableOutput::begin(std::span<const ResultColumn> columns) {
  columns_.assign(columns.begin(), columns.end());
  for (const ResultColumn& column : columns)
    widths_.push_back(display_width(column.name));
}

void TableOutput::row(std::span<const Cell> cells) {
  std::vector<std::string> texts;
  for (const Cell& cell : cells)
    texts.push_back(std::holds_alternative<std::monostate>(cell) ? "NULL"
                                                                 : printable(cell_text(cell)));
  if (!is_sampling_)
    return print_line(texts);
  for (std::size_t i = 0; i < texts.size(); ++i)
    widths_[i] = std::max(widths_[i], display_width(texts[i]));
  sample_.push_back(std::move(texts));
  if (sample_.size() == kSampleRows)
    print_sample();
}

void TableOutput::end() {
  if (is_sampling_)
    print_sample();
}

void TableOutput::print_line(std::span<const std::string> cells) {
  sink_.put(line_of(cells, widths_, [&](std::size_t i) {
    return columns_[i].kind == Kind::number ? Align::right : Align::left;
  }));
  sink_.put('\n');
}

void TableOutput::print_sample() {
  std::vector<std::string> names;
  std::vector<std::string> rules;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    names.push_back(columns_[i].name);
    rules.emplace_back(widths_[i], '-');
  }
  print_line(names);
  print_line(rules);
  for (const auto& row : sample_)
    print_line(row);
  sample_.clear();
  is_sampling_ = false;
}

} // namespace iotrail::output
