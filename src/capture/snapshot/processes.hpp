// SPDX-License-Identifier: BSD-3-Clause
//
// The processes in /proc, and their recent CPU use.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "capture/snapshot/cpu_history.hpp"
#include "capture/snapshot/rows/snapshot_run.hpp"
#include "capture/tasks/process_stat.hpp"

namespace iotrail::capture::snapshot {

class Processes {
public:
  explicit Processes(std::string proc = "/proc", bool keeps_arguments = true)
      : proc_(std::move(proc)), keeps_arguments_(keeps_arguments) {}

  // Adds a row for each process. False: it stopped early.
  bool take(SnapshotRun& run);
  // Adds no row, but makes the CPU shares of later snapshots more exact.
  void sample();

private:
  // Called for a process while its directory is open.
  using Visit = std::function<bool(int directory, iot_u32 pid, const ProcessStat& stat)>;
  bool for_each(const Visit& visit);
  void add(SnapshotRun& run, int directory, iot_u32 pid, const ProcessStat& stat);
  CpuShares see(iot_u32 pid, const ProcessStat& stat);

  std::string proc_;
  bool keeps_arguments_;
  CpuHistory history_;
  std::string text_; // reused for one file after another
};

} // namespace iotrail::capture::snapshot
