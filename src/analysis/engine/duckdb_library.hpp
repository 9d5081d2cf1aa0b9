// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.hpp"

namespace iotrail::analysis {

// DuckDB's library is large and only queries need it: it is loaded here and not with the program. To be called before the
// first function of duckdb.h; further calls cost nothing. Safe from any thread.
Result<void> load_duckdb();

} // namespace iotrail::analysis
