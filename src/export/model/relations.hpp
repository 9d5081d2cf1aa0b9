// SPDX-License-Identifier: BSD-3-Clause
//
// The relations that databases get: the tables of the trace with rows, small tables about it, and
// the views that need what no other database has, as tables.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "export/trace_format.hpp"

namespace iotrail::output {

std::vector<std::string> relations_of(const store::TraceReader& trace);

// A second engine on the trace that may write files.
Result<std::unique_ptr<analysis::Engine>> writing_engine(const TraceInput& input);

// Runs a statement that returns no rows of interest.
Result<void> run_statement(analysis::Engine& engine, const std::string& sql);

} // namespace iotrail::output
