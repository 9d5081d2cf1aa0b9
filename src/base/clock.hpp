// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#include "base/clock_offset.hpp"

namespace iotrail {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

namespace detail {

// /proc shows the offsets of the namespace for children: this process is in it, unless it created
// it itself.
inline std::int64_t own_clock_offset_ns() {
  struct stat own{};
  struct stat of_children{};
  if (::stat("/proc/self/ns/time", &own) != 0 || own.st_ino == kInitialTimeNamespace ||
      ::stat("/proc/self/ns/time_for_children", &of_children) != 0 ||
      own.st_ino != of_children.st_ino)
    return 0;
  std::ifstream file(kClockOffsetsFile);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return monotonic_offset_ns(text.c_str());
}

} // namespace detail

// The time base of a trace: CLOCK_MONOTONIC of the initial time namespace, the kernel's own clock.
inline std::uint64_t monotonic_ns() {
  static const std::int64_t offset_ns = detail::own_clock_offset_ns();
  return clock_ns(CLOCK_MONOTONIC) - static_cast<std::uint64_t>(offset_ns);
}
// Resolution of the kernel's coarse clocks.
inline std::uint64_t kernel_tick_ns() {
  timespec tick{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
  return static_cast<std::uint64_t>(tick.tv_nsec);
}
inline std::uint64_t realtime_ns() {
  return clock_ns(CLOCK_REALTIME);
}

} // namespace iotrail
