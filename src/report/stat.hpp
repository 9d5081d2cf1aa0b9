// SPDX-License-Identifier: BSD-3-Clause
//
// The summary of `stat`, and the report of its trace: tables of aggregates.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

struct StatOptions {
  std::string by{};       // only one table: operation, file, process or device; empty: all
  std::uint64_t rows = 0; // in each table; 0: the table's default
};

// Fails for other names.
Result<void> check_stat_table(const std::string& by);

Result<Document> make_stat(analysis::Engine& engine, const StatOptions& options);

} // namespace iotrail::output
