// SPDX-License-Identifier: BSD-3-Clause
//
// The report. First come the recording and its losses, why it took so long, which files and processes it was, and how large
// operations were. Then what each layer did, the fate of bytes on their way down, the slowest operations, losses one by
// one, and what was not recorded. All numbers come from the SQL views.
#pragma once

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"
#include "report/section.hpp"

namespace iotrail::output {

struct ReportOptions {
  std::string by{};        // one table only: "operation", "file", "process" or "device"; empty: all
  SectionOptions rows{};   // a column to sort by needs `by`
  std::string selection{}; // in words, what the engine was asked to look at alone; empty: all
  bool for_programs = false; // all rows unless a number of them is asked for; facts as tables
};

Result<Document> make_report(analysis::Engine& engine, const ReportOptions& options);

} // namespace iotrail::output
