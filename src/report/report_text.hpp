// SPDX-License-Identifier: BSD-3-Clause
//
// The report: on its first page, what the recording is and how much of it was lost, why it took so long, which files and
// processes it was, how large operations were. Then what each layer did, what became of the bytes on their way down, the
// slowest operations, losses one by one, and what was not recorded. All numbers come from the SQL views.
#pragma once

#include <cstdio>

#include "analysis/engine/engine.hpp"
#include "report/report_section.hpp"

namespace iotrail::output {

struct ReportOptions {
  std::size_t width = kPlainWidth; // kAnyWidth: no column is left out
  std::string by{};                // one table only: "operation", "file" or "process"; empty: all
  SectionOptions rows{};           // a column to sort by needs `by`
  std::string selection{}; // in words, what the engine was asked to look at alone; empty: all
};

Result<void> write_report(analysis::Engine& engine, const ReportOptions& options, std::FILE* file);

// One JSON object: the trace's name, an array of rows for each table, whole and unrounded, and `warnings`, an array of
// sentences that say why the rows may not be the whole truth.
Result<void> write_report_json(analysis::Engine& engine, const ReportOptions& options,
                               std::FILE* file);

} // namespace iotrail::output
