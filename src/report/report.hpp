// SPDX-License-Identifier: BSD-3-Clause
//
// The report. It begins with the recording and its losses, the time by part, files and processes,
// and the sizes of operations. Then come each layer's work, the fate of bytes on their way down,
// the slowest operations, each loss, and what was not recorded. All numbers come from the SQL
// views.
#pragma once

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"
#include "report/section.hpp"

namespace iotrail::output {

struct ReportOptions {
  std::string by{};        // only one table: "operation", "file", "process" or "device"; empty: all
  SectionOptions rows{};   // sorting by a column needs `by`
  std::string selection{}; // how the user narrowed the trace down, in words; empty: not at all
  bool for_programs = false; // all rows, unless the user gives a number; facts as tables
};

// Steps of the engine's progress in make_report().
std::uint64_t report_steps(const ReportOptions& options);
Result<Document> make_report(analysis::Engine& engine, const ReportOptions& options);

} // namespace iotrail::output
