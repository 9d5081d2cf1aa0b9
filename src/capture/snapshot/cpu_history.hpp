// SPDX-License-Identifier: BSD-3-Clause
//
// Recent CPU use of each process, from repeated readings.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "abi.h"

namespace iotrail::capture::snapshot {

inline constexpr std::uint64_t kSecondNs = 1'000'000'000;
inline constexpr std::array<std::uint64_t, 3> kCpuWindowsNs = {5 * kSecondNs, 120 * kSecondNs,
                                                               3600 * kSecondNs};

// Per mille of one CPU for each of the windows; -1: unknown.
using CpuShares = std::array<iot_s32, kCpuWindowsNs.size()>;

class CpuHistory {
public:
  // `start_ns` separates a process from an earlier one with the same pid; all times are monotonic.
  // A share covers the window, up to a quarter longer. It covers the time since the start or the
  // first reading if that is shorter.
  CpuShares see(iot_u32 pid, std::uint64_t start_ns, std::uint64_t now_ns, std::uint64_t cpu_ns);

  // Forgets processes without a reading since `since_ns`.
  void forget_unseen(std::uint64_t since_ns);

private:
  struct Point {
    std::uint64_t at_ns;
    std::uint64_t cpu_ns;
  };
  struct ProcessTimes {
    std::uint64_t start_ns = 0;
    std::uint64_t seen_ns = 0;
    std::array<std::deque<Point>, kCpuWindowsNs.size()> points; // of each window, oldest first
  };

  static iot_s32 see(std::deque<Point>& points, std::uint64_t window_ns, const Point& now);

  std::unordered_map<iot_u32, ProcessTimes> processes_;
};

} // namespace iotrail::capture::snapshot
