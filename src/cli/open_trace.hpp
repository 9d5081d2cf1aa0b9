// SPDX-License-Identifier: BSD-3-Clause
//
// Traces and tables of them, by the names that the user gave.
#pragma once

#include <memory>
#include <string>

#include "analysis/engine/engine.hpp"
#include "base/result.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::cli {

Result<std::unique_ptr<store::TraceReader>> open_trace(const std::string& name);
Result<std::unique_ptr<analysis::Engine>> open_engine(const std::string& name,
                                                      const analysis::EngineOptions& options = {});

// An event or a dictionary.
Result<const store::TableInfo*> find_table(const store::TraceReader& trace,
                                           const std::string& name);

} // namespace iotrail::cli
