// SPDX-License-Identifier: BSD-3-Clause
//
// The aggregate overlap_times(from_ns, until_ns, what) of SQL over a trace. Each row is a span of
// time; the bits of `what` are the things in progress during it. The result is a list of {what,
// ns}, one entry per set of things: the time in which exactly these were in progress. The lengths
// add up to the time with anything in progress. NULL: no time. A span with a NULL, or with an end
// not after its begin, adds nothing. It takes O(k log k) for k spans of a group.
#pragma once

#include <duckdb.h>

#include "base/result.hpp"

namespace iotrail::analysis {

Result<void> register_overlap_times(duckdb_connection connection);

} // namespace iotrail::analysis
