// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of one table of a trace as cells. Ids are replaced: by paths for files, and by names for
// devices, flags and calls. With `raw` all numbers stay as stored. Unknown values (file 0) are NULL.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/names/trace_dictionaries.hpp"
#include "export/output.hpp"
#include "store/reader/event_stream.hpp"

namespace iotrail::output {

class EventRows {
public:
  // `with_event`: the first column is the name of the table, "event". A table's own column `event`
  // (of losses and event_sums) then becomes "of_event".
  EventRows(const store::TableInfo& table, const analysis::TraceDictionaries& dictionaries,
            bool raw, bool with_event);

  std::span<const ResultColumn> columns() const { return columns_; }
  // Of the current event, which must be of this table. Valid until the next call.
  std::span<const Cell> cells(const store::EventStream& event);

private:
  bool is_text(const store::ColumnInfo& column) const;
  Cell cell(const store::EventStream& event, std::size_t column);
  Cell named(const store::EventStream& event, std::size_t column);
  Cell keep(std::size_t column, std::string text);

  const store::TableInfo& table_;
  const analysis::TraceDictionaries& dictionaries_;
  bool raw_;
  bool with_event_;
  std::vector<ResultColumn> columns_;
  std::vector<Cell> cells_;
  std::vector<std::string> storage_; // texts of the current row, by column of the table
};

} // namespace iotrail::output
