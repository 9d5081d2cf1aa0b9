// SPDX-License-Identifier: BSD-3-Clause
//
// Converts the time stamps of the preload library to CLOCK_MONOTONIC. Processors whose time stamp counter runs at one
// rate always are read directly; the counter is tied to the clock by anchors, taken again at least once a second.
// Between two anchors the error is that of reading them (tens of nanoseconds), after the last one it is the same as
// long as the next comes in time.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

class TickClock {
public:
  // Of this machine: the counter where the kernel itself keeps time by it.
  static ClockKind detect();

  explicit TickClock(ClockKind kind);

  // A first rate takes 10 ms: waits for what is missing of them since the clock was made. To be called before to_ns().
  void settle();

  ClockKind kind() const { return kind_; }
  std::uint64_t ticks() const;
  std::uint64_t to_ns(std::uint64_t ticks) const;

  // To be called often; takes an anchor when one is due.
  void tick(std::uint64_t now_ns);

private:
  struct Anchor {
    std::uint64_t ticks;
    std::uint64_t ns;
    double ns_per_tick; // up to the next anchor
  };
  static Anchor read_anchor();
  void add_anchor();

  ClockKind kind_;
  std::vector<Anchor> anchors_;
  std::uint64_t interval_ns_;
  std::uint64_t next_ns_ = 0;
};

} // namespace iotrail::capture::preload
