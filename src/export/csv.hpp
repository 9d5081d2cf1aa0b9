// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "export/output.hpp"

namespace iotrail::output {

// RFC 4180 with LF as line end. NULL is an empty field, an empty text is "" in quotes: they stay apart.
class CsvOutput : public Output {
public:
  explicit CsvOutput(Sink& sink) : sink_(sink) {}
  void begin(std::span<const ResultColumn> columns) override;
  void row(std::span<const Cell> cells) override;
  void end() override {}

private:
  Sink& sink_;
};

} // namespace iotrail::output
