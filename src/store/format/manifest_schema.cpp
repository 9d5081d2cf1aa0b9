// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/manifest_schema.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace iotrail::store {
namespace {

// No version comes near these limits; each table and column costs a reader memory and time.
constexpr std::size_t kTablesMax = 1024;
constexpr std::size_t kColumnsMax = 256;
constexpr std::size_t kNameBytesMax = 64;
constexpr std::string_view kBadName =
    "its schema has a name that is not of small letters, digits and underscores";

// Tables and columns name files, SQL objects and JSON keys. SQL does not distinguish small and
// capital letters.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameBytesMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::optional<ColumnInfo> column_from_text(const std::string& text) {
  const std::size_t first = text.find(' ');
  const std::size_t second = text.find(' ', first + 1);
  if (first == std::string::npos || second == std::string::npos)
    return std::nullopt;
  const std::string_view type = std::string_view(text).substr(first + 1, second - first - 1);
  for (std::size_t i = 0; i < std::size(schema::kTypes); ++i)
    if (schema::kTypes[i].name == type)
      return ColumnInfo{text.substr(0, first), static_cast<schema::Type>(i),
                        schema::find_meaning(std::string_view(text).substr(second + 1))};
  return std::nullopt;
}

// A role that this version does not know is no column of its view `events`.
void set_roles(TableInfo& table, const Json& roles) {
  for (std::size_t i = 0; i < std::size(schema::kRoles); ++i) {
    const std::string role(schema::kRoles[i].name);
    const int column = roles.contains(role) ? table.column(roles.at(role).get<std::string>()) : -1;
    if (column >= 0)
      table.columns[static_cast<std::size_t>(column)].role = static_cast<schema::Role>(i);
  }
}

Result<TableInfo> table_from_json(const Json& json) {
  TableInfo table{json.at("kind").get<iot_u16>(), json.at("name"), json.at("layer"), {}};
  const Json& columns = json.at("columns");
  if (columns.size() > kColumnsMax)
    return damaged_manifest("its schema has a table with too many columns");
  if (!is_name(table.name) || !is_name(table.layer))
    return damaged_manifest(std::string(kBadName));
  std::set<std::string, std::less<>> names; // as in SQL, where some columns have other names
  for (const Json& text : columns) {
    auto column = column_from_text(text.get<std::string>());
    if (!column)
      return damaged_manifest("its schema has a column of an unknown type");
    if (!is_name(column->name))
      return damaged_manifest(std::string(kBadName));
    if (!names.emplace(schema::column_name(column->name)).second)
      return damaged_manifest("its schema has two columns of a name");
    table.columns.push_back(std::move(*column));
  }
  if (json.contains("roles"))
    set_roles(table, json.at("roles"));
  return table;
}

bool has_twin(const std::vector<TableInfo>& tables, const TableInfo& table) {
  return std::ranges::any_of(tables, [&](const TableInfo& other) {
    return other.kind == table.kind || other.name == table.name;
  });
}

} // namespace

// One line a column ("ts_ns u64 time_ns"), since people read the schema too.
Json schema_json() {
  Json tables = Json::array();
  for (const schema::Event& event : schema::kEvents) {
    Json columns = Json::array();
    Json roles = Json::object();
    for (const schema::Field& field : event.fields) {
      columns.push_back(fmt::format("{} {} {}", field.name, schema::info(field.type).name,
                                    schema::meaning_name(field.meaning)));
      if (field.role != schema::Role::none)
        roles[std::string(schema::info(field.role).name)] = field.name;
    }
    tables.push_back({{"kind", event.id},
                      {"name", event.name},
                      {"layer", schema::layer_name(static_cast<std::uint32_t>(event.layer))},
                      {"columns", std::move(columns)},
                      {"roles", std::move(roles)}});
  }
  return tables;
}

Result<std::vector<TableInfo>> tables_from_json(const Json& schema) {
  if (schema.size() > kTablesMax)
    return damaged_manifest("its schema has too many tables");
  if (schema.empty())
    return damaged_manifest("its schema has no tables");
  std::vector<TableInfo> tables;
  for (const Json& row : schema) {
    auto table = table_from_json(row);
    if (!table)
      return std::unexpected(table.error());
    if (has_twin(tables, *table))
      return damaged_manifest("its schema has two tables of a kind or a name");
    tables.push_back(std::move(*table));
  }
  return tables;
}

} // namespace iotrail::store
