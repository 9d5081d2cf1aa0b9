// SPDX-License-Identifier: BSD-3-Clause
//
// Why `explain` finds no operation, and which is the nearest to the one that was asked for.
#pragma once

#include "analysis/engine/engine.hpp"
#include "report/explain/explain.hpp"

namespace iotrail::output {

// `heads_sql`: selects all operations that could be asked for, with op_id, name and since_ns.
Error no_operation(analysis::Engine& engine, const ExplainOptions& options,
                   std::string_view heads_sql);

} // namespace iotrail::output
