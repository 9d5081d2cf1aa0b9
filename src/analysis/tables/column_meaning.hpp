// SPDX-License-Identifier: BSD-3-Clause
//
// The meaning of the numbers in a result column. The engine's results have only names and types, so
// these decide. A result column counts as the column of a table in the query with the same name and
// type.
#pragma once

#include <duckdb.h>

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/format/manifest.hpp"

namespace iotrail::analysis {

// Knows the columns of some tables, which must outlive it.
class ColumnMeanings {
public:
  ColumnMeanings() = default;
  explicit ColumnMeanings(std::span<const store::TableInfo> tables);

  // `number` if no table has such a column, or if the tables in the query disagree on its meaning.
  schema::Meaning of(std::string_view sql, std::string_view column, duckdb_type type) const;

private:
  struct TableColumn {
    const store::TableInfo* table;
    const store::ColumnInfo* info;
  };
  std::unordered_map<std::string_view, std::vector<TableColumn>> columns_; // by name
};

} // namespace iotrail::analysis
