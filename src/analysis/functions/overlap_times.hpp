// SPDX-License-Identifier: BSD-3-Clause
//
// The aggregate overlap_times(from_ns, until_ns, what) of SQL over a trace. Each row is a span of time in which the things
// went on whose bits are set in `what`. The result is a list of {what, ns}, a row for each set of things that went on at
// once: for how long exactly these did. The lengths add up to the time in which anything went on. NULL where nothing did. A
// span with a NULL, or whose end is not behind its begin, adds nothing. It takes k log k for k spans of a group.
#pragma once

#include <duckdb.h>

#include "base/result.hpp"

namespace iotrail::analysis {

Result<void> register_overlap_times(duckdb_connection connection);

} // namespace iotrail::analysis
