// SPDX-License-Identifier: BSD-3-Clause
//
// The format `text`: aligned columns for rows of any number. Widths come from the first kSampleRows; longer cells after those
// push their line to the right.
#pragma once

#include "export/output.hpp"
#include "text/table.hpp"

namespace iotrail::output {

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
