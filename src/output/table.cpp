// SPDX-License-Identifier: BSD-3-Clause
#include "output/table.hpp"

#include <algorithm>

#include "output/printable.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kLeastWidth = 12; // of a column on the narrowest terminal

// Less of a cell says nothing.
std::size_t least_of(Fit fit) {
  switch (fit) {
  case Fit::whole:
    return kAnyWidth;
  case Fit::middle:
    return 28;
  case Fit::end:
    return 16;
  case Fit::wrap:
    return 40;
  }
  return kAnyWidth;
}

// The last column is not padded: no line ends in blanks.
std::string line_of(std::span<const std::string> cells, std::span<const std::size_t> widths,
                    auto align_of) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0)
      line += kGap;
    line += padded(cells[i], widths[i], align_of(i));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Columns are left out only when those that can be shortened have come down to their least.
std::vector<std::size_t> columns_shown(std::span<const TextTable::Column> columns,
                                       std::span<const std::size_t> widths, std::size_t room) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < columns.size(); ++i)
    shown.push_back(i);
  const auto least_width = [&](std::size_t i) {
    return std::min(widths[i], least_of(columns[i].fit));
  };
  for (;;) {
    std::size_t total = shown.empty() ? 0 : (shown.size() - 1) * kGap.size();
    for (const std::size_t i : shown)
      total += least_width(i);
    const auto least =
        std::ranges::max_element(shown, {}, [&](std::size_t i) { return columns[i].rank; });
    if (total <= room || least == shown.end() || columns[*least].rank == 0)
      return shown;
    shown.erase(least);
  }
}

// Room is dealt to the columns that can be shortened, the narrowest first: what one does not need is the next one's.
std::vector<std::size_t> fitted(std::span<const TextTable::Column> columns,
                                std::vector<std::size_t> widths, std::span<const std::size_t> shown,
                                std::size_t room) {
  std::vector<std::size_t> flexible;
  std::size_t used = shown.empty() ? 0 : (shown.size() - 1) * kGap.size();
  for (const std::size_t i : shown)
    if (columns[i].fit == Fit::whole)
      used += widths[i];
    else
      flexible.push_back(i);
  std::size_t left = room > used ? room - used : 0;
  std::ranges::sort(flexible, {}, [&](std::size_t i) { return widths[i]; });
  for (std::size_t n = 0; n < flexible.size(); ++n) {
    std::size_t& width = widths[flexible[n]];
    width = std::min(width, std::max(left / (flexible.size() - n), kLeastWidth));
    left -= std::min(left, width);
  }
  return widths;
}

} // namespace

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
  std::vector<std::string> cells;
  std::vector<std::size_t> cell_widths;
  std::vector<std::string> below; // of the sentence in the last column
  for (const std::size_t i : shown) {
    cell_widths.push_back(widths[i]);
    switch (columns_[i].fit) {
    case Fit::whole:
      cells.push_back(row[i]);
      break;
    case Fit::middle:
      cells.push_back(shortened_middle(row[i], widths[i]));
      break;
    case Fit::end:
      cells.push_back(shortened_end(row[i], widths[i]));
      break;
    case Fit::wrap:
      below = wrapped(row[i], widths[i]);
      cells.push_back(below.front());
      below.erase(below.begin());
    }
  }
  const auto align_of = [&](std::size_t n) { return columns_[shown[n]].align; };
  sink.print("{}{}\n", indent, line_of(cells, cell_widths, align_of));
  cells.assign(cells.size(), "");
  for (std::string& line : below) {
    cells.back() = std::move(line);
    sink.print("{}{}\n", indent, line_of(cells, cell_widths, align_of));
  }
}

void TextTable::print(Sink& sink, std::string_view indent, std::size_t width) const {
  const std::size_t room = width > indent.size() ? width - indent.size() : 0;
  const std::vector<std::size_t> natural = natural_widths();
  const std::vector<std::size_t> shown = columns_shown(columns_, natural, room);
  const std::vector<std::size_t> widths = fitted(columns_, natural, shown, room);
  std::vector<std::string> titles;
  for (const Column& column : columns_)
    titles.push_back(column.title);
  print_row(sink, indent, titles, shown, widths);
  for (const auto& row : rows_)
    print_row(sink, indent, row, shown, widths);
}

void TableOutput::begin(std::span<const ResultColumn> columns) {
  columns_.assign(columns.begin(), columns.end());
  is_plan_ = columns.size() == 2 && columns[0].name == "explain_key";
  for (const ResultColumn& column : columns)
    widths_.push_back(display_width(printable(column.name)));
}

void TableOutput::row(std::span<const Cell> cells) {
  if (is_plan_)
    return sink_.print("{}\n", printable_lines(cell_text(cells[1])));
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
    print_all();
}

void TableOutput::end() {
  if (is_sampling_ && !is_plan_)
    print_all();
  std::string hidden;
  for (std::size_t i = shown_.size(); !is_plan_ && i < columns_.size(); ++i)
    hidden += (hidden.empty() ? "" : ", ") + printable(columns_[i].name);
  if (hidden.empty() && !is_cut_)
    return;
  const std::string note = hidden.empty() ? "longer texts are cut (...)" : "not shown: " + hidden;
  for (const std::string& line : wrapped(note + "; --wide has all", width_))
    sink_.print("{}\n", line);
}

void TableOutput::print_line(std::span<const std::string> cells) {
  std::vector<std::string> fitting;
  std::vector<std::size_t> widths;
  std::vector<std::string> below; // of the sentence in the last column
  for (const std::size_t i : shown_) {
    widths.push_back(widths_[i]);
    if (width_ == kAnyWidth || display_width(cells[i]) <= widths_[i]) {
      fitting.push_back(cells[i]);
    } else if (i == shown_.back() && cells[i].contains(' ') && !cells[i].starts_with('/')) {
      below = wrapped(cells[i], widths_[i]);
      fitting.push_back(below.front());
      below.erase(below.begin());
    } else {
      fitting.push_back(shortened_middle(cells[i], widths_[i]));
      is_cut_ = true;
    }
  }
  const auto align_of = [&](std::size_t n) {
    return columns_[shown_[n]].kind == Kind::number ? Align::right : Align::left;
  };
  sink_.print("{}\n", line_of(fitting, widths, align_of));
  fitting.assign(fitting.size(), "");
  for (std::string& line : below) {
    fitting.back() = std::move(line);
    sink_.print("{}\n", line_of(fitting, widths, align_of));
  }
}

// The first column always stays; the others are left out from the last on.
void TableOutput::choose_columns() {
  std::vector<TextTable::Column> columns;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    columns.push_back({"", Align::left, columns_[i].kind == Kind::number ? Fit::whole : Fit::middle,
                       static_cast<int>(i)});
  shown_ = columns_shown(columns, widths_, width_);
  widths_ = fitted(columns, widths_, shown_, width_);
}

// The widths of columns are chosen when it is known how many rows there are, or that there are many.
void TableOutput::print_all() {
  choose_columns();
  if (shown_.size() == columns_.size() || sample_.size() > kUprightRows || sample_.empty())
    print_sample();
  else
    print_upright();
}

// A long value goes on below itself.
void TableOutput::print_upright(const std::string& name, std::string_view value,
                                std::size_t name_width) {
  const std::size_t indent = name_width + kGap.size();
  const std::size_t room = std::max(width_ > indent ? width_ - indent : 0, kLeastWidth);
  std::string_view first = name;
  for (const std::string& line : wrapped(value, room)) {
    sink_.print("{}{}{}\n", padded(first, name_width, Align::left), kGap, line);
    first = {};
  }
}

void TableOutput::print_upright() {
  std::size_t width = 0;
  for (const ResultColumn& column : columns_)
    width = std::max(width, display_width(printable(column.name)));
  for (std::size_t n = 0; n < sample_.size(); ++n) {
    if (n > 0)
      sink_.put('\n');
    for (std::size_t i = 0; i < columns_.size(); ++i)
      print_upright(printable(columns_[i].name), sample_[n][i], width);
  }
  shown_.resize(columns_.size());
}

void TableOutput::print_sample() {
  std::vector<std::string> names;
  std::vector<std::string> rules;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    names.push_back(printable(columns_[i].name));
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
