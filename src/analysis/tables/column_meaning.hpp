// SPDX-License-Identifier: BSD-3-Clause
//
// What the numbers in a column of a result stand for. The engine's results have names and types only, so it is told by
// these: a column that a table of the query has, by name and type, is taken for that column.
#pragma once

#include <duckdb.h>

#include <span>
#include <string_view>

#include "store/format/manifest.hpp"

namespace iotrail::analysis {

// `number` where no table has such a column, or where those that the query names differ in what it means.
schema::Meaning column_meaning(std::string_view sql, std::string_view column, duckdb_type type,
                               std::span<const store::TableInfo> tables);

} // namespace iotrail::analysis
