// SPDX-License-Identifier: BSD-3-Clause
//
// The aggregate union_length(from_ns, until_ns) of SQL over a trace: the time within at least one
// of the intervals, UBIGINT; 0 without intervals. An interval with a NULL, or with an end not after
// its begin, adds nothing. Plain SQL needs a running maximum over sorted rows, which takes minutes
// for a partition of millions of rows.
#pragma once

#include <duckdb.h>

#include "base/result.hpp"

namespace iotrail::analysis {

Result<void> register_union_length(duckdb_connection connection);

} // namespace iotrail::analysis
