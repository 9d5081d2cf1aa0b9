// SPDX-License-Identifier: BSD-3-Clause
//
// The aggregate busiest_share(from_ns, until_ns, window_ns) of SQL over a trace: the largest share
// of a window of that length within at least one of the intervals, DOUBLE from 0 to 1. The window
// may begin at any time. 0 without intervals, or for a window of length 0. A program that waits for
// an hour and then does I/O for a minute is busy in that minute; its share of the run says nothing.
#pragma once

#include <duckdb.h>

#include "base/result.hpp"

namespace iotrail::analysis {

Result<void> register_busiest_share(duckdb_connection connection);

} // namespace iotrail::analysis
