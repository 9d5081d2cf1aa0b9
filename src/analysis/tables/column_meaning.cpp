// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/column_meaning.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "analysis/tables/trace_table.hpp"
#include "value_text.hpp"

namespace iotrail::analysis {

namespace {

using schema::Meaning;

struct ViewColumn {
  std::string_view name;
  duckdb_type type;
  Meaning meaning;
};

// Columns of views with names that no event has. The engine gives only the name and the type of a
// column; all others follow from the fields of the tables in a query.
constexpr ViewColumn kViewColumns[] = {
    {schema::info(schema::Role::result).column, DUCKDB_TYPE_INTEGER, Meaning::error},
    {"syscall_op", DUCKDB_TYPE_UBIGINT, Meaning::op},
    {"app_op", DUCKDB_TYPE_UBIGINT, Meaning::op},
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool names(std::string_view sql, std::string_view table) {
  for (auto at = sql.find(table); at != sql.npos; at = sql.find(table, at + 1)) {
    const auto end = at + table.size();
    if ((at == 0 || !is_word(sql[at - 1])) && (end == sql.size() || !is_word(sql[end])))
      return true;
  }
  return false;
}

// nullopt: they differ.
class Agreement {
public:
  void add(Meaning meaning) {
    if (found_ && *found_ != meaning && !are_results(*found_, meaning))
      differ_ = true;
    found_ = meaning;
  }
  bool is_empty() const { return !found_; }
  Meaning meaning() const { return found_ && !differ_ ? *found_ : Meaning::number; }

private:
  // A result may be bytes, a descriptor or only an error: all read the same.
  static bool are_results(Meaning a, Meaning b) {
    return schema::wording(a) == schema::Wording::result &&
           schema::wording(b) == schema::Wording::result;
  }

  std::optional<Meaning> found_;
  bool differ_ = false;
};

} // namespace

ColumnMeanings::ColumnMeanings(std::span<const store::TableInfo> tables) {
  for (const store::TableInfo& table : tables)
    for (const store::ColumnInfo& info : table.columns)
      columns_[schema::column_name(info.name)].push_back({&table, &info});
}

Meaning ColumnMeanings::of(std::string_view sql, std::string_view column, duckdb_type type) const {
  const auto* of_view = std::ranges::find(kViewColumns, column, &ViewColumn::name);
  if (of_view != std::end(kViewColumns) && of_view->type == type)
    return of_view->meaning;
  Agreement named;
  Agreement all;
  const auto found = columns_.find(column);
  if (found == columns_.end())
    return all.meaning();
  for (const auto& [table, info] : found->second) {
    if (sql_type_of(*info) != type)
      continue;
    all.add(info->meaning);
    if (names(sql, table->name))
      named.add(info->meaning);
  }
  return named.is_empty() ? all.meaning() : named.meaning();
}

} // namespace iotrail::analysis
