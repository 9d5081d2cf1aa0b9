// SPDX-License-Identifier: BSD-3-Clause
//
// What each disk counts by itself, whatever is recorded: /sys/block/DISK/stat. The manifest keeps
// how much these counters grew, so that a trace can be compared with them.
#pragma once

#include <filesystem>
#include <vector>

#include "capture/selection/filter.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::capture {

// The counters of a disk, read at one time.
struct DiskCounters {
  std::string name;
  std::uint32_t device = 0;  // major << 20 | minor
  std::uint64_t read_ns = 0; // CLOCK_MONOTONIC
  store::DiskSums sums;
  std::uint64_t in_flight = 0;
  std::uint64_t request_max_bytes = 0;
};

// Disks that complete requests and count them. Mapped disks and arrays complete none: they hand
// bios on to the disks below. `sys`: another directory in tests.
std::vector<DiskCounters> read_disk_counters(const std::filesystem::path& sys = "/sys");

// The disks that counted something between two readings, and those with all requests recorded. A disk that came later began at 0. Without `has_requests` the recording has none.
std::vector<store::DiskReport> report_disks(const std::vector<DiskCounters>& begin,
                                            const std::vector<DiskCounters>& end,
                                            const Filter& filter, bool has_requests);

} // namespace iotrail::capture
