// SPDX-License-Identifier: BSD-3-Clause
//
// What `stat` prints: lines as it goes, from the rows of an interval alone, and tables at the end, from the trace's views.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "analysis/engine/engine.hpp"
#include "dictionary_rows.hpp"
#include "report/sample.hpp"
#include "text/text_width.hpp"

namespace iotrail::output {

struct StatOptions {
  std::size_t width = kPlainWidth;
  std::string by{};       // one table only: operation, file, process or device; empty: all
  std::uint64_t rows = 0; // of each table; 0: as many as it usually has
};

// Refuses what is no table.
Result<void> check_stat_table(const std::string& by);

// A line for each layer and operation, with rates by the second. `begin_ns`: of the recording.
std::string interval_text(std::span<const rows::event_sums> rows, std::uint64_t begin_ns,
                          const Sample& sample, bool with_title);

// Whether the trace is one of `stat`.
bool has_sums(const store::TraceReader& trace);

Result<void> write_stat(analysis::Engine& engine, const StatOptions& options, std::FILE* file);

} // namespace iotrail::output
