// SPDX-License-Identifier: BSD-3-Clause
//
// A query of a locked engine is one statement that reads. The engine has table functions that
// change it, and one that runs the SQL in a text. So the parsed statement is checked before it
// runs, with all texts that it passes to that function. What is checked is what runs: a text that
// is computed is refused.
#pragma once

#include <duckdb.h>

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iotrail::analysis {

// Without the semicolon and blanks at the end.
std::string_view without_end(std::string_view sql);

// Before all else: the first word of `sql` shows that it does not read.
Result<void> check_begin(std::string_view sql);

// Before any of the `count` statements in `sql` is prepared. Two are one PIVOT without a list of
// values: the engine splits it.
Result<void> check_statements(std::string_view sql, idx_t count);

// Before the last one, now prepared, runs.
Result<void> check_prepared(duckdb_connection connection, const std::string& sql, idx_t count,
                            duckdb_prepared_statement statement);

} // namespace iotrail::analysis
