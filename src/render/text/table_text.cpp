// SPDX-License-Identifier: BSD-3-Clause
#include "render/text/table_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "render/text/value_text.hpp"
#include "text/table.hpp"
#include "text/text_width.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr std::size_t kSpansWidth = 18;
constexpr std::string_view kTableIndent = "  ";
constexpr int kEmptyFirst = 100; // added to the priority of a column without information

bool is_text(Meaning meaning) {
  return meaning == Meaning::text || meaning == Meaning::path || meaning == Meaning::command ||
         meaning == Meaning::sentence || meaning == Meaning::label;
}

Fit fit_of(Meaning meaning) {
  switch (meaning) {
  case Meaning::path:
    return Fit::middle;
  case Meaning::command:
  case Meaning::remark:
    return Fit::end;
  case Meaning::sentence:
    return Fit::wrap;
  case Meaning::label:
    return Fit::fold;
  default:
    return Fit::whole;
  }
}

std::string bar(const Spans& spans) {
  const Span& whole = spans.whole;
  const double length = static_cast<double>(std::max<std::uint64_t>(1, whole.length_ns()));
  const auto place = [&](std::uint64_t ts_ns) {
    const std::uint64_t clamped = std::clamp(ts_ns, whole.begin_ns, whole.end_ns);
    return static_cast<std::size_t>(static_cast<double>(clamped - whole.begin_ns) / length *
                                    kSpansWidth);
  };
  std::string text(kSpansWidth, ' ');
  for (const Span& span : spans.parts) {
    const std::size_t begin = std::min(place(span.begin_ns), kSpansWidth - 1);
    const std::size_t end = std::clamp(place(span.end_ns), begin + 1, kSpansWidth);
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin),
              text.begin() + static_cast<std::ptrdiff_t>(end), '#');
  }
  return "|" + text + "|";
}

class Table {
public:
  explicit Table(const Section& section) : section_(section) {
    for (const std::size_t column : section.shown)
      if (!is_omitted(column))
        shown_.push_back(column);
  }

  void print(Sink& sink, std::size_t width, std::string_view all_columns) const {
    std::vector<TextTable::Column> columns;
    for (const std::size_t column : shown_)
      columns.push_back({at(column).title,
                         is_text(at(column).meaning) || at(column).meaning == Meaning::spans
                             ? Align::left
                             : Align::right,
                         fit_of(at(column).meaning), drop_priority(column)});
    TextTable table(std::move(columns));
    for (std::size_t row = 0; row < section_.rows.size(); ++row) {
      std::vector<std::string> cells;
      for (const std::size_t column : shown_)
        cells.push_back(cell(row, column));
      table.add(std::move(cells));
    }
    const std::vector<std::size_t> printed = table.print(sink, kTableIndent, width);
    if (!all_columns.empty())
      name_others(printed, all_columns, sink, width);
  }

private:
  // Not those without information, which are dropped first.
  void name_others(const std::vector<std::size_t>& printed, std::string_view all_columns,
                   Sink& sink, std::size_t width) const {
    std::string others;
    for (std::size_t i = 0; i < shown_.size(); ++i)
      if (const std::string& title = at(shown_[i]).title;
          std::ranges::find(printed, i) == printed.end() && !title.empty() &&
          drop_priority(shown_[i]) < kEmptyFirst)
        others += (others.empty() ? "" : ", ") + title;
    if (others.empty())
      return;
    const std::string note = fmt::format("not shown: {}; {} has all", others, all_columns);
    for (const std::string& line : wrapped(note, width - std::min(width, kTableIndent.size())))
      sink.print("{}{}\n", kTableIndent, line);
  }

  const Column& at(std::size_t column) const { return section_.columns[column]; }
  const Value& value(std::size_t row, std::size_t column) const {
    return section_.rows[row].values[column];
  }

  bool is_omitted(std::size_t column) const {
    const Omit omit = at(column).omit;
    if (omit == Omit::never)
      return false;
    return std::ranges::none_of(section_.rows, [&](const Row& row) {
      const Value& of_row = row.values[column];
      if (omit == Omit::if_unknown)
        return is_known(of_row);
      return real_of(of_row) < 0 || real_of(of_row) > (omit == Omit::if_zero ? 0 : 1);
    });
  }

  // Drops columns without information first. Never drops a column with never_drop and a value above
  // 0.
  int drop_priority(std::size_t column) const {
    bool is_empty = true;
    for (std::size_t row = 0; row < section_.rows.size(); ++row) {
      if (at(column).never_drop && real_of(value(row, column)) > 0)
        return 0;
      const std::string text = cell(row, column);
      is_empty = is_empty && (text.empty() || text == kDash);
    }
    const int priority = at(column).drop_priority;
    return priority == 0 || !is_empty ? priority : kEmptyFirst + priority;
  }

  // The text shown instead of the number of a row, such as an error instead of bytes.
  std::string instead(std::size_t row, std::size_t column) const {
    const auto found = std::ranges::find(section_.columns, at(column).instead, &Column::name);
    if (at(column).instead.empty() || found == section_.columns.end())
      return {};
    return text_of(value(row, static_cast<std::size_t>(found - section_.columns.begin())));
  }

  std::string cell(std::size_t row, std::size_t column) const {
    if (std::string text = instead(row, column); !text.empty())
      return text;
    const Value& shown = value(row, column);
    if (const auto* spans = std::get_if<Spans>(&shown))
      return bar(*spans);
    if (!is_known(shown))
      return is_text(at(column).meaning) ? std::string() : std::string(kDash);
    if (at(column).suppress_repeats && row > 0 && text_of(value(row - 1, column)) == text_of(shown))
      return {};
    if (at(column).zero_is_dash && real_of(shown) == 0)
      return std::string(kDash);
    if (at(column).meaning == Meaning::share)
      return short_share(real_of(shown));
    if (at(column).meaning == Meaning::date)
      return short_date(static_cast<std::int64_t>(number_of(shown)));
    return value_text(shown, at(column).meaning,
                      at(column).is_sum ? section_.rows[row].scale_factor : 1);
  }

  const Section& section_;
  std::vector<std::size_t> shown_;
};

} // namespace

bool has_table(const Section& section) {
  return !section.rows.empty() && !section.shown.empty();
}

void render_table(const Section& section, Sink& sink, std::size_t width,
                  std::string_view all_columns) {
  Table(section).print(sink, width, all_columns);
}

} // namespace iotrail::output
