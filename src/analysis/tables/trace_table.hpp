// SPDX-License-Identifier: BSD-3-Clause
//
// A table of a trace as a table function of DuckDB. It decodes only the columns that a query uses,
// block by block, on all threads of the query. Columns and types come from the trace's own schema.
//
// SELECT * FROM syscall_read(from_ns := 5, to_ns := 9) reads only blocks that can have rows of that time.
#pragma once

#include <duckdb.h>

#include "base/result.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

duckdb_type sql_type_of(const store::ColumnInfo& column);

// Columns of `table` after the reader's own are NULL. `reader` and `table` must outlive the
// database of `connection`.
Result<void> register_trace_table(duckdb_connection connection, const store::TraceReader& reader,
                                  const store::TableInfo& table);

} // namespace iotrail::analysis
