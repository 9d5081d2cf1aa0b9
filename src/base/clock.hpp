// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <ctime>

namespace iotrail {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// The time base of a trace.
inline std::uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}
inline std::uint64_t realtime_ns() {
  return clock_ns(CLOCK_REALTIME);
}

} // namespace iotrail
