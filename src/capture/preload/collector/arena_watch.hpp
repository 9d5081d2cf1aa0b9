// SPDX-License-Identifier: BSD-3-Clause
//
// The collector's check of the whole arena: any traced program can overwrite its header and
// truncate its file. The file must have its size, and constant fields their original values.
// Counters may only grow, and by no more than calls can have been made. No other code of the
// collector reads the header.
#pragma once

#include <cstdint>

#include "capture/preload/collector/arena_file.hpp"

namespace iotrail::capture::preload {

// Whether a counter that grows by one with each call can have grown from `before` to `now` in that
// time. No processor makes a call in less than a nanosecond, nor do several that share the counter.
constexpr bool may_have_grown(iot_u64 before, iot_u64 now, std::uint64_t elapsed_ns) {
  return now >= before && now - before <= elapsed_ns;
}

class ArenaWatch {
public:
  // `arena` was just created by the collector, and outlives the watch.
  explicit ArenaWatch(ArenaFile& arena);

  // Call it only while the arena is intact.
  void set_state(ArenaState state);

  // Takes a copy of the current header. False, from then on: it was overwritten or truncated.
  bool look();
  bool is_intact() const { return is_intact_; }

  // The last valid copy.
  const ArenaHeader& last() const { return last_; }

private:
  bool follows(const ArenaHeader& now, std::uint64_t elapsed_ns) const;

  ArenaFile& arena_;
  ArenaHeader last_;
  std::uint64_t seen_ns_;
  bool is_intact_ = true;
};

} // namespace iotrail::capture::preload
