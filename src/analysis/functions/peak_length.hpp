// SPDX-License-Identifier: BSD-3-Clause
//
// The aggregate peak_length(at_ns, from, until, is_removed) of SQL over a trace, UBIGINT. Each row
// adds a range to a set of numbers, or removes it, at a time. The result is the largest size that
// the set had: the workset of iotrace, where writes add and discards remove. A row with a NULL, or
// with an end not after its begin, changes nothing. Of rows at the same time, those that add come
// first. It takes O(k log k) for k rows of a group.
#pragma once

#include <duckdb.h>

#include "base/result.hpp"

namespace iotrail::analysis {

Result<void> register_peak_length(duckdb_connection connection);

} // namespace iotrail::analysis
