// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <duckdb.h>

#include "base/result.hpp"

namespace iotrail::analysis {

// The aggregates merged_spans(from_ns, until_ns) and span_gaps(from_ns, until_ns): lists of
// {from_ns, until_ns} in the order of time. The first has the times with at least one span in
// progress. The second has the times between these; there, spans without a length count too. A span
// with a NULL, or with an end before its begin, adds nothing.
Result<void> register_span_lists(duckdb_connection connection);

} // namespace iotrail::analysis
