// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.hpp"

namespace iotrail::analysis {

// Loads DuckDB's library, which is large and needed only by queries. Call it before the first
// function of duckdb.h; further calls cost nothing. Safe from any thread.
Result<void> load_duckdb();

} // namespace iotrail::analysis
