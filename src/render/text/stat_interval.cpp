// SPDX-License-Identifier: BSD-3-Clause
#include "render/text/stat_interval.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "render/text/value_text.hpp"

namespace iotrail::output {

namespace {

constexpr std::size_t kWidths[] = {8, 15, 10, 12, 9, 9, 9, 6}; // the first two are texts

// `cell(column)` is the text of a shown column.
template <class Cell> std::string interval_line(const Section& section, const Cell& cell) {
  std::string line = "  ";
  for (std::size_t i = 0; i < std::min(section.shown.size(), std::size(kWidths)); ++i)
    line += i < 2 ? fmt::format("{:<{}}", cell(section.shown[i]), kWidths[i])
                  : fmt::format("{:>{}}", cell(section.shown[i]), kWidths[i]);
  return line + "\n";
}

std::string interval_cell(const Section& section, const Row& row, std::size_t number) {
  const Column& column = section.columns[number];
  const Value& value = row.values[number];
  if (column.meaning == Meaning::text)
    return text_of(value).substr(0, 14);
  if (!is_known(value) || (column.zero_is_dash && real_of(value) == 0))
    return std::string(kDash);
  if (!column.is_sum)
    return value_text(value, column.meaning);
  const double rate = real_of(value) * static_cast<double>(row.scale_factor);
  const std::string_view mark = estimate_mark(1, row.scale_factor);
  if (rate > 0 && std::llround(rate) == 0) // a rare event is not shown as 0
    return fmt::format("{}< 1", mark);
  return fmt::format("{}{}", mark, value_text(rate, column.meaning));
}

} // namespace

std::string interval_text(const Document& document, bool with_title) {
  if (document.sections.empty())
    return {};
  const Section& section = document.sections.front();
  std::string text;
  for (const Sentence& warning : document.warnings)
    text += fmt::format("  {}\n", sentence_text(warning));
  if (with_title)
    text +=
        interval_line(section, [&](std::size_t column) { return section.columns[column].title; });
  text += sentence_text(document.title) + "\n";
  for (const Row& row : section.rows)
    text += interval_line(section,
                          [&](std::size_t column) { return interval_cell(section, row, column); });
  return text;
}

} // namespace iotrail::output
