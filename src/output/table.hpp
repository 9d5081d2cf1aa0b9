// SPDX-License-Identifier: BSD-3-Clause
//
// Aligned columns. TextTable is for tables that are small and known whole (the report); TableOutput for rows of any
// number: widths come from the first kSampleRows, longer cells after those push their line to the right.
#pragma once

#include "output/output.hpp"

namespace iotrail::output {

enum class Align : std::uint8_t { left, right };

// Width on a terminal, as far as it is known: code points of UTF-8.
std::size_t display_width(std::string_view text);

// `text` padded with blanks to `width` code points.
std::string padded(std::string_view text, std::size_t width, Align align);

class TextTable {
public:
  struct Column {
    std::string title;
    Align align;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells); // as many as columns
  bool is_empty() const { return rows_.empty(); }
  void print(Sink& sink, std::string_view indent) const;

private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

class TableOutput : public Output {
public:
  explicit TableOutput(Sink& sink) : sink_(sink) {}
  void begin(std::span<const ResultColumn> columns) override;
  void row(std::span<const Cell> cells) override;
  void end() override;

private:
  static constexpr std::size_t kSampleRows = 1000;

  void print_line(std::span<const std::string> cells);
  void print_sample();

  Sink& sink_;
  std::vector<ResultColumn> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> sample_;
  bool is_sampling_ = true;
};

} // namespace iotrail::output
