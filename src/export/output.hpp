// SPDX-License-Identifier: BSD-3-Clause
//
// Writes rows of typed columns as they arrive; an output may buffer a bounded number of them.
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
  // The columns of the next rows, valid until the next call of begin() or end(). Only a format of
  // streams gets a second call, before rows of another table.
  virtual void begin(std::span<const ResultColumn> columns) = 0;
  // One cell for each column; not kept after the call.
  virtual void row(std::span<const Cell> cells) = 0;
  virtual void end() = 0;
};

struct Format;

struct RowsOptions {
  const Format* format = nullptr;
  const store::TraceReader* trace = nullptr; // names replace its numbers; nullptr: numbers stay
  std::size_t width = kAnyWidth;
};

// Writes all rows of a query in one format. Returns the number of rows.
Result<std::uint64_t> write_rows(analysis::Rows& rows, const RowsOptions& options, std::FILE* file);

// "text", the number, "true"; "" for NULL.
std::string cell_text(const Cell& cell);

} // namespace iotrail::output
