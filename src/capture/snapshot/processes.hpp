// SPDX-License-Identifier: BSD-3-Clause
//
// The processes that /proc shows, and how much CPU they took of late.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "capture/snapshot/cpu_history.hpp"
#include "capture/snapshot/rows/taking.hpp"
#include "capture/tasks/process_stat.hpp"

namespace iotrail::capture::snapshot {

class Processes {
public:
  explicit Processes(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // A row for each. False: it had to stop before it was through.
  bool take(Taking& taking);
  // No row: what the next ones tell of CPU times is the better for it.
  void sample();

private:
  // Of a process whose directory is open.
  using Visit = std::function<bool(int directory, iot_u32 pid, const ProcessStat& stat)>;
  bool for_each(const Visit& visit);
  void add(Taking& taking, int directory, iot_u32 pid, const ProcessStat& stat);
  CpuShares see(iot_u32 pid, const ProcessStat& stat);

  std::string proc_;
  CpuHistory history_;
  std::string text_; // of files that are read one after another
};

} // namespace iotrail::capture::snapshot
