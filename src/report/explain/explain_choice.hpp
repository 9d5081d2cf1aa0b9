// SPDX-License-Identifier: BSD-3-Clause
//
// Selects the operations that `explain` shows.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/engine/engine.hpp"
#include "report/explain/explain.hpp"
#include "report/small_result.hpp"

namespace iotrail::output {

// Selects all operations that the user may ask for: op_id, name, layer, what, ts_ns, duration_ns,
// bytes, error, path, pid, comm, since_ns, is_for_others (it waits for another program, not for
// I/O).
std::string all_heads_sql(const ExplainOptions& options);

// Selects the operations to show. Among the slowest, waits for other programs come last.
std::string heads_sql(const ExplainOptions& options);

// Which were asked for and are not among the rows of heads_sql(); empty: all are. `shown` has rows.
Result<Sentence> name_left_out(analysis::Engine& engine, const ExplainOptions& options,
                               const SmallResult& shown);

} // namespace iotrail::output
