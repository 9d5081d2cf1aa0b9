// SPDX-License-Identifier: BSD-3-Clause
//
// Which operations `explain` shows.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/engine.hpp"
#include "output/explain_text.hpp"

namespace iotrail::output {

// Selects all operations that could be asked for: op_id, name, layer, what, ts_ns, duration_ns, bytes, error, path, pid, comm,
// since_ns.
std::string all_heads_sql(const ExplainOptions& options);

// Selects those that are shown.
std::string heads_sql(const ExplainOptions& options);

// How many there are at the time that is asked for, shown or not; 0: no time is.
Result<std::uint64_t> count_chosen(analysis::Engine& engine, const ExplainOptions& options);

} // namespace iotrail::output
