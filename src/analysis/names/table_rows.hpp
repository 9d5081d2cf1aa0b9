// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of one table of a trace, block by block. Unreadable blocks are skipped; the reader
// counts them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

class TableRows {
public:
  // `names` are the columns to read; one that the table lacks is 0, or empty.
  TableRows(const store::TraceReader& trace, const store::TableInfo& table,
            std::initializer_list<std::string_view> names)
      : trace_(trace), table_(table) {
    for (const std::string_view name : names)
      columns_.push_back(table.column(name));
  }

  // Calls `row(number, text)`; both take the index of a column in the names. `text` transfers the
  // block's own text.
  template <class Row> void for_each(Row row) const {
    std::vector<int> wanted;
    std::ranges::copy_if(columns_, std::back_inserter(wanted), [](int c) { return c >= 0; });
    for (const store::BlockInfo& block : trace_.blocks()) {
      if (block.kind != table_.kind)
        continue;
      auto read = trace_.read(block, wanted);
      if (!read)
        continue;
      for (std::size_t i = 0; i < block.rows; ++i)
        row([&](std::size_t at) { return number(*read, at, i); },
            [&](std::size_t at) { return text(*read, at, i); });
    }
  }

private:
  std::uint64_t number(const std::vector<store::Column>& columns, std::size_t at,
                       std::size_t row) const {
    if (columns_[at] < 0)
      return 0;
    const auto* found =
        std::get_if<store::Numbers>(&columns[static_cast<std::size_t>(columns_[at])]);
    return found ? (*found)[row] : 0;
  }
  std::string text(std::vector<store::Column>& columns, std::size_t at, std::size_t row) const {
    if (columns_[at] < 0)
      return {};
    auto* found = std::get_if<store::Texts>(&columns[static_cast<std::size_t>(columns_[at])]);
    return found ? std::move((*found)[row]) : std::string{};
  }

  const store::TraceReader& trace_;
  const store::TableInfo& table_;
  std::vector<int> columns_;
};

} // namespace iotrail::analysis
