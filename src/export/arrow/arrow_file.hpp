// SPDX-License-Identifier: BSD-3-Clause
//
// The IPC file format of Apache Arrow: the schema, batches of rows, and at the end where they are.
// It has the values as a program has them in memory, so that a reader can map it.
#pragma once

#include <cstdint>
#include <cstdio>

#include "analysis/engine/chunks.hpp"
#include "base/result.hpp"

namespace iotrail::output {

// Writes all rows of a query (Engine::query_for_arrow) as one file; it need not be seekable.
// Returns the number of rows.
Result<std::uint64_t> write_arrow(analysis::Chunks& chunks, std::FILE* file);

} // namespace iotrail::output
