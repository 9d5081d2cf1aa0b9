// SPDX-License-Identifier: BSD-3-Clause
//
// Functions that SQL over a trace has in addition:
//   errno_name(error)          'ENOENT' for -2, '' for 0 and above
//   flags_text(table, flags)   'O_RDWR|O_CREAT' for ('open', 66); tables are those of `iotrail schema`
//   folded_path(path)          '/db/*.log' for '/db/17.log'
//   op_text(op_id)             '1.27', as `iotrail script` shows an operation
//   union_length(from, until)  an aggregate: see union_length.hpp
//   busiest_share(from, until, window)   another: see busiest_share.hpp
//   overlap_times(from, until, what)   another: see overlap_times.hpp
#pragma once

#include <duckdb.h>

#include "base/result.hpp"

namespace iotrail::analysis {

Result<void> register_functions(duckdb_connection connection);

} // namespace iotrail::analysis
