// SPDX-License-Identifier: BSD-3-Clause
//
// The one interface of a format for rows of typed columns. Rows are written as they come; a format may hold back a
// bounded number of them. Formats are listed in outputs.cpp; csv.cpp is the simplest and serves as the model.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/rows.hpp"
#include "base/result.hpp"
#include "store/reader/trace_reader.hpp"
#include "text/sink.hpp"
#include "text/text_width.hpp"

namespace iotrail::output {

using analysis::Cell;
using analysis::Kind;
using analysis::ResultColumn;

class Output {
public:
  virtual ~Output() = default;
  virtual void begin(std::span<const ResultColumn> columns) = 0;
  // As many cells as columns; they are not kept beyond the call.
  virtual void row(std::span<const Cell> cells) = 0;
  virtual void end() = 0;
};

struct Format {
  std::string_view name;
  std::string_view doc;
  // `width`: of a table for people, as far as columns may be shortened or left out.
  std::unique_ptr<Output> (*make)(Sink& sink, std::size_t width);
};

std::span<const Format> formats();
const Format* find_format(std::string_view name); // nullptr: no such format

struct RowsOptions {
  const Format* format = nullptr; // of outputs.cpp
  const store::TraceReader* trace =
      nullptr; // that names stand for numbers of; nullptr: numbers stay as they are
  std::size_t width = kAnyWidth;
};

// All rows of a query in one format. The number of rows written.
Result<std::uint64_t> write_rows(analysis::Rows& rows, const RowsOptions& options, std::FILE* file);

// "text", the number, "true"; "" for NULL.
std::string cell_text(const Cell& cell);

} // namespace iotrail::output
