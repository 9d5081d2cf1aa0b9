// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/cpu_history.hpp"

#include <algorithm>

namespace iotrail::capture::snapshot {
namespace {

constexpr std::uint64_t kPointsPerWindow = 10;
constexpr std::uint64_t kTolerancePart = 4; // tolerance: a window may be a quarter longer
constexpr std::uint64_t kPermille = 1000;

} // namespace

CpuShares CpuHistory::see(iot_u32 pid, std::uint64_t start_ns, std::uint64_t now_ns,
                          std::uint64_t cpu_ns) {
  // /proc gives the start to a hundredth of a second, from clocks that are read one after another.
  constexpr std::uint64_t kExactnessNs = kSecondNs / 20;
  auto [found, is_new] = processes_.try_emplace(pid);
  ProcessTimes& process = found->second;
  if (is_new || process.start_ns + kExactnessNs < start_ns) {
    process = {};
    process.start_ns = start_ns;
    for (auto& points : process.points)
      points.push_back({start_ns, 0});
  }
  process.seen_ns = now_ns;
  CpuShares shares{};
  for (std::size_t i = 0; i < shares.size(); ++i)
    shares[i] = see(process.points[i], kCpuWindowsNs[i], {now_ns, cpu_ns});
  return shares;
}

// Keeps the newest point that is as old as the window, and later ones at a distance; drops all
// others.
iot_s32 CpuHistory::see(std::deque<Point>& points, std::uint64_t window_ns, const Point& now) {
  const std::uint64_t step_ns = window_ns / kPointsPerWindow;
  while (points.size() > 1 && points[1].at_ns + window_ns <= now.at_ns)
    points.pop_front();
  const bool is_first_too_old =
      points[0].at_ns + window_ns + window_ns / kTolerancePart < now.at_ns;
  const Point first = points[is_first_too_old && points.size() > 1 ? 1 : 0];
  const bool is_known = (!is_first_too_old || points.size() > 1) && first.at_ns < now.at_ns;
  if (points.back().at_ns + step_ns <= now.at_ns)
    points.push_back(now);
  if (!is_known)
    return -1;
  const std::uint64_t cpu_ns = now.cpu_ns - std::min(first.cpu_ns, now.cpu_ns);
  return static_cast<iot_s32>(
      std::min<std::uint64_t>(cpu_ns * kPermille / (now.at_ns - first.at_ns), INT32_MAX));
}

void CpuHistory::forget_unseen(std::uint64_t since_ns) {
  std::erase_if(processes_, [&](const auto& entry) { return entry.second.seen_ns < since_ns; });
}

} // namespace iotrail::capture::snapshot
