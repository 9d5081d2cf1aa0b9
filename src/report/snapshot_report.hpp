// SPDX-License-Identifier: BSD-3-Clause
//
// The report on a trace of snapshots alone: what was taken and, for deltas, what changed. Such a
// trace has no calls, so that other reports would say nothing about it.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

// The views with rows: "snapshot_files".
std::vector<std::string_view> snapshot_views(const store::TraceReader& trace);

bool is_of_snapshots(const store::TraceReader& trace);

struct SnapshotReportOptions {
  std::uint64_t rows = 0; // of each table; 0: as each has by default
  bool all_rows = false;
};

Result<Document> make_snapshot_report(analysis::Engine& engine,
                                      const SnapshotReportOptions& options);

} // namespace iotrail::output
