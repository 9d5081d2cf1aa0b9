// SPDX-License-Identifier: BSD-3-Clause
//
// The aggregate union_length(from_ns, until_ns) of SQL over a trace: the time that lies in at least one of the intervals,
// UBIGINT; 0 of none. An interval with a NULL, or whose end is not behind its begin, adds nothing.
// In SQL alone this is a running maximum over sorted rows, which takes minutes where a partition has millions of them.
#pragma once

#include <duckdb.h>

#include "base/result.hpp"

namespace iotrail::analysis {

Result<void> register_union_length(duckdb_connection connection);

} // namespace iotrail::analysis
