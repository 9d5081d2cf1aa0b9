// SPDX-License-Identifier: BSD-3-Clause
//
// What `stat` says at the end, and `report` of its trace: tables of aggregates.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

struct StatOptions {
  std::string by{};       // one table only: operation, file, process or device; empty: all
  std::uint64_t rows = 0; // of each table; 0: as many as it usually has
};

// Refuses what is no table.
Result<void> check_stat_table(const std::string& by);

Result<Document> make_stat(analysis::Engine& engine, const StatOptions& options);

} // namespace iotrail::output
