// SPDX-License-Identifier: BSD-3-Clause
//
// The meaning of the numbers in a result column. The engine's results have only names and types, so
// these decide. A result column counts as the column of a table in the query with the same name and
// type.
#pragma once

#include <duckdb.h>

#include <span>
#include <string_view>

#include "store/format/manifest.hpp"

namespace iotrail::analysis {

// `number` if no table has such a column, or if the tables in the query disagree on its meaning.
schema::Meaning column_meaning(std::string_view sql, std::string_view column, duckdb_type type,
                               std::span<const store::TableInfo> tables);

} // namespace iotrail::analysis
