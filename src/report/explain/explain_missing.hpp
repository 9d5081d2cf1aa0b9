// SPDX-License-Identifier: BSD-3-Clause
//
// Says why `explain` finds no operation, and names the nearest one.
#pragma once

#include "analysis/engine/engine.hpp"
#include "report/explain/explain.hpp"

namespace iotrail::output {

// `heads_sql` selects all operations that the user may ask for, with op_id, name and since_ns.
Error no_operation(analysis::Engine& engine, const ExplainOptions& options,
                   std::string_view heads_sql);

} // namespace iotrail::output
