// SPDX-License-Identifier: BSD-3-Clause
//
// Aligned columns. TextTable is for tables that are small and known whole (the report); TableOutput for rows of any
// number: widths come from the first kSampleRows, longer cells after those push their line to the right.
#pragma once

#include "output/output.hpp"
#include "output/text_width.hpp"

namespace iotrail::output {

enum class Align : std::uint8_t { left, right };

// `text` padded with blanks to `width` code points.
std::string padded(std::string_view text, std::size_t width, Align align);

// What becomes of a column whose cells are wider than the room for them.
enum class Fit : std::uint8_t {
  whole,  // they stay as they are
  middle, // they lose their middle: paths
  end,    // they lose their end: commands
  wrap,   // they go on below: sentences, in the last column
};

class TextTable {
public:
  struct Column {
    std::string title;
    Align align;
    Fit fit = Fit::whole;
    int rank = 0; // where room is short, the highest rank is left out first; 0: never
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells); // as many as columns
  bool is_empty() const { return rows_.empty(); }
  // Lines of at most `width`, as far as columns may be shortened or left out.
  void print(Sink& sink, std::string_view indent, std::size_t width = kAnyWidth) const;

private:
  std::vector<std::size_t> natural_widths() const;
  void print_row(Sink& sink, std::string_view indent, const std::vector<std::string>& row,
                 std::span<const std::size_t> shown, std::span<const std::size_t> widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Of a given width, texts lose their middle, but sentences in the last column go on below, and the last columns are left out
// and named below; the columns of up to kUprightRows rows stand one below the other instead. Of kAnyWidth nothing is left out.
// The engine's plan of a query (EXPLAIN) is printed as it is drawn.
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
  void choose_columns();

  Sink& sink_;
  std::size_t width_;
  bool is_plan_ = false;
  std::vector<ResultColumn> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::size_t> shown_; // columns, once the sample is known
  std::vector<std::vector<std::string>> sample_;
  bool is_sampling_ = true;
  bool is_cut_ = false; // any text so far
};

} // namespace iotrail::output
