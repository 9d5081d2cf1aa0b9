// SPDX-License-Identifier: BSD-3-Clause
//
// Keys are column names in order. NULL, and numbers that JSON lacks (NaN), become null. 64-bit
// numbers are written with all digits: read them with a parser that keeps integers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "export/output.hpp"

namespace iotrail::output {

// Quotes a text. Bytes that are not UTF-8 become U+FFFD. A text that is not printable is written in
// ASCII (\u202e).
void put_json_text(Sink& sink, std::string_view text);
// A whole document, indented, in ASCII.
std::string json_text(const nlohmann::json& json);
void put_json_cell(Sink& sink, const Cell& cell, Kind kind);

// {"ts_ns":1,"path":"/a"}
void put_json_object(Sink& sink, std::span<const ResultColumn> columns,
                     std::span<const Cell> cells);

// Rows as elements of one array, an object a line.
class JsonOutput : public Output {
public:
  explicit JsonOutput(Sink& sink) : sink_(sink) {}
  void begin(std::span<const ResultColumn> columns) override;
  void row(std::span<const Cell> cells) override;
  void end() override;

private:
  Sink& sink_;
  std::span<const ResultColumn> columns_;
  bool is_empty_ = true;
};

} // namespace iotrail::output
