// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iotrail::analysis {

// Loads DuckDB's library, which is large and needed only by queries. Call it before the first
// function of duckdb.h; further calls cost nothing. Safe from any thread.
Result<void> load_duckdb();

// The SHA-256 of a text as 64 digits, by the library: 0 to 9, a to f.
Result<std::string> sha256_digits(std::string_view text);

} // namespace iotrail::analysis
