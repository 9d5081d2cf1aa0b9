// SPDX-License-Identifier: BSD-3-Clause
//
// The results of src/trail/ as tables of DuckDB: found_links(), found_fates() and
// found_late_reads(), for views/00_links.sql, conservation.sql, write_fates.sql and read_ahead.sql.
// The first query that needs one computes them, once while the trace is open. Likewise the paths of
// files over time, found_file_paths() and shown_path_at(file, ts_ns), and the current directories of
// processes, found_directories(); the library calls of system calls, found_app_calls(); the parts of
// calls, found_call_parts(); and the damage of the trace, found_damage().
#pragma once

#include <duckdb.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "analysis/names/file_paths.hpp"
#include "analysis/tables/app_calls.hpp"
#include "analysis/tables/call_parts.hpp"
#include "base/result.hpp"
#include "store/reader/trace_reader.hpp"
#include "trail/state/link.hpp"

namespace iotrail::analysis {

// What the reader could not read of the trace, as a loss.
struct DamageLoss {
  std::uint64_t from_ns;
  std::uint64_t to_ns;
  std::uint64_t events; // as far as is known; at least 1
};

class TrailTables {
public:
  // `reader` must outlive this object.
  explicit TrailTables(const store::TraceReader& reader) : reader_(reader) {}

  // This object must outlive the database of `connection`.
  Result<void> register_in(duckdb_connection connection);

  // Safe from several threads.
  const trail::Trails& trails();
  const TraceNames& names();
  const AppCalls& app_calls();
  const std::vector<CallPart>& call_parts();
  const std::vector<DamageLoss>& damage(); // after a look at every block

private:
  const store::TraceReader& reader_;
  std::once_flag found_;
  trail::Trails trails_;
  std::once_flag named_;
  TraceNames names_;
  std::once_flag placed_;
  AppCalls app_calls_;
  std::once_flag divided_;
  std::vector<CallPart> call_parts_;
  std::once_flag checked_;
  std::vector<DamageLoss> damage_;
};

} // namespace iotrail::analysis
