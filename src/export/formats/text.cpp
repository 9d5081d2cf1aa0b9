// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "export/format.hpp"
#include "text/printable.hpp"
#include "text/table.hpp"

namespace iotrail::output {
namespace {

// Such a column has the key or the number of a thing, and says little to people.
bool is_key(const ResultColumn& column) {
  constexpr auto kKeys = std::to_array<std::string_view>(
      {"pid", "tid", "cpu", "file", "string", "device", "inode", "request", "fd"});
  constexpr auto kEnds = std::to_array<std::string_view>({"_pid", "_file", "_device"});
  const std::string_view name = column.name;
  if (name.starts_with("is_") || name == "op_id" || name.ends_with("_op"))
    return true;
  return column.kind == Kind::number && // a text is the name of the thing
         (std::ranges::find(kKeys, name) != kKeys.end() ||
          std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); }));
}

// How much: bytes, a duration, a share.
bool is_measure(const ResultColumn& column) {
  constexpr auto kEnds = std::to_array<std::string_view>(
      {"bytes", "total_ns", "busy_ns", "duration_ns", "share", "count", "operations"});
  return column.kind == Kind::number && std::ranges::any_of(kEnds, [&](std::string_view end) {
           return std::string_view(column.name).ends_with(end);
         });
}

constexpr std::size_t kFewValues = 4;

// Aligned columns for any number of rows. Widths come from the first kSampleRows; longer cells
// after those push their line to the right.
// With a given width, texts lose their middle, and a sentence in the last column continues on the
// next lines. Columns that do not fit are omitted and named below: first those with one value in
// all rows, then keys and numbers. What the statement filters or orders by, and the first measure,
// stay longest. Up to kUprightRows rows are printed upright instead: one column below another. With
// kAnyWidth nothing is omitted.
// The engine's plan of a query (EXPLAIN) is printed as it is.
class TableOutput : public Output {
public:
  explicit TableOutput(Sink& sink, std::size_t width = kAnyWidth) : sink_(sink), width_(width) {}
  void begin(std::span<const ResultColumn> columns) override;
  void row(std::span<const Cell> cells) override;
  void end() override;

private:
  static constexpr std::size_t kSampleRows = 1000;
  static constexpr std::size_t kUprightRows = 3;

  void print_line(std::span<const std::string> cells);
  void print_all();
  void print_sample();
  void print_upright();
  void print_upright(const std::string& name, std::string_view value, std::size_t name_width);
  int rank_of(std::size_t column, bool is_first_measure) const;
  std::size_t distinct_values(std::size_t column) const;
  void add_what_fits(std::span<const TextTable::Column> columns);
  void choose_columns();

  Sink& sink_;
  std::size_t width_;
  bool is_plan_ = false;
  std::vector<ResultColumn> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::size_t> shown_; // columns, once the sample is known
  std::vector<std::vector<std::string>> sample_;
  bool is_sampling_ = true;
  bool is_cut_ = false; // whether any text was shortened
};

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
  for (std::size_t i = 0; !is_plan_ && i < columns_.size(); ++i)
    if (std::ranges::find(shown_, i) == shown_.end())
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
  std::vector<std::string> below; // rest of the sentence in the last column
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

std::size_t TableOutput::distinct_values(std::size_t column) const {
  std::set<std::string_view> values;
  for (const auto& row : sample_)
    values.insert(row[column]);
  return values.size();
}

// The column with the highest rank is omitted first.
int TableOutput::rank_of(std::size_t column, bool is_first_measure) const {
  constexpr int kMostColumns = 100'000; // more have the same rank
  const int place = static_cast<int>(std::min<std::size_t>(column, kMostColumns - 1)) + 1;
  const auto group = [&](int number) { return number * kMostColumns + place; };
  const ResultColumn& info = columns_[column];
  if (info.is_asked)
    return group(0);
  const std::size_t values = distinct_values(column);
  if (values == 1 && sample_.size() > 1)
    return group(6);
  if (is_key(info))
    return group(5);
  if (is_first_measure)
    return group(1);
  if (info.kind == Kind::number)
    return group(4);
  return group(values < kFewValues ? 3 : 2); // such texts say less
}

// A wide column that was omitted may leave room for narrow ones that were omitted before it.
void TableOutput::add_what_fits(std::span<const TextTable::Column> columns) {
  std::vector<std::size_t> hidden;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (std::ranges::find(shown_, i) == shown_.end())
      hidden.push_back(i);
  std::ranges::sort(hidden, {}, [&](std::size_t i) { return columns[i].rank; });
  for (const std::size_t column : hidden) {
    std::vector<std::size_t> more = shown_;
    more.insert(std::ranges::upper_bound(more, column), column);
    std::vector<TextTable::Column> all;
    std::vector<std::size_t> widths;
    for (const std::size_t i : more) {
      all.push_back({"", Align::left, columns[i].fit, 1});
      widths.push_back(widths_[i]);
    }
    if (columns_shown(all, widths, width_).size() == all.size())
      shown_ = std::move(more);
  }
}

void TableOutput::choose_columns() {
  std::vector<TextTable::Column> columns;
  bool has_measure = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool is_first = !has_measure && is_measure(columns_[i]) && distinct_values(i) > 1;
    has_measure = has_measure || is_first;
    columns.push_back({"", Align::left, columns_[i].kind == Kind::number ? Fit::whole : Fit::middle,
                       rank_of(i, is_first)});
  }
  if (!columns.empty()) // one column stays, however narrow the terminal is
    std::ranges::min_element(columns, {}, &TextTable::Column::rank)->rank = 0;
  shown_ = columns_shown(columns, widths_, width_);
  add_what_fits(columns);
  widths_ = fitted(columns, widths_, shown_, width_);
}

// Chooses the widths when all rows are known, or there are many.
void TableOutput::print_all() {
  choose_columns();
  if (shown_.size() == columns_.size() || sample_.size() > kUprightRows || sample_.empty())
    print_sample();
  else
    print_upright();
}

// Continues a long value on the next lines.
void TableOutput::print_upright(const std::string& name, std::string_view value,
                                std::size_t name_width) {
  const std::size_t indent = name_width + kColumnGap.size();
  const std::size_t room = std::max(width_ > indent ? width_ - indent : 0, kLeastColumnWidth);
  std::string_view first = name;
  for (const std::string& line : wrapped(value, room)) {
    sink_.print("{}{}{}\n", padded(first, name_width, Align::left), kColumnGap, line);
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
  std::iota(shown_.begin(), shown_.end(), std::size_t{0});
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

} // namespace

extern const Format kFormatText = {
    .name = "text",
    .doc = "A table with aligned columns, for people.",
    .gives = Gives::file_a_table,
    .make = [](Sink& sink, std::size_t width) -> std::unique_ptr<Output> {
      return std::make_unique<TableOutput>(sink, width);
    },
};

} // namespace iotrail::output
