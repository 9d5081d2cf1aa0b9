// SPDX-License-Identifier: BSD-3-Clause
//
// Converts the time stamps of the preload library to CLOCK_MONOTONIC. If the processor's time stamp
// counter has a constant rate, it is read directly. Anchors tie it to the clock, at least one per
// second. Between two anchors the error is as large as when reading them (tens of nanoseconds).
// After the last anchor the error is the same, as long as the next one comes in time.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

class TickClock {
public:
  // For this machine: the counter if the kernel itself keeps time by it.
  static ClockKind detect();

  explicit TickClock(ClockKind kind);

  // The first rate needs 10 ms: waits for the rest of this time since the clock was made. Call it
  // before to_ns().
  void settle();

  ClockKind kind() const { return kind_; }
  std::uint64_t ticks() const;
  std::uint64_t to_ns(std::uint64_t ticks) const;

  // Call it often; takes an anchor when one is due.
  void tick(std::uint64_t now_ns);

private:
  struct Anchor {
    std::uint64_t ticks;
    std::uint64_t ns;
    double ns_per_tick; // until the next anchor
  };
  static Anchor read_anchor();
  void add_anchor();

  ClockKind kind_;
  std::vector<Anchor> anchors_;
  std::uint64_t interval_ns_;
  std::uint64_t next_ns_ = 0;
};

} // namespace iotrail::capture::preload
