// SPDX-License-Identifier: BSD-3-Clause
//
// The collector's look at the arena as a whole, of which any traced program can overwrite the header and truncate the file:
// the file must have its size, what is constant must be as the collector made it, what counts may only grow, and by no more
// than calls can have been made. Nobody else reads the header.
#pragma once

#include <cstdint>

#include "capture/preload/collector/arena_file.hpp"

namespace iotrail::capture::preload {

// Whether a counter that rises by one with each call of programs may have come from `before` to `now` in that time.
// No processor makes a call in less than a nanosecond, nor do several that share the counter.
constexpr bool may_have_grown(iot_u64 before, iot_u64 now, std::uint64_t elapsed_ns) {
  return now >= before && now - before <= elapsed_ns;
}

class ArenaWatch {
public:
  // `arena` is as the collector has just made it, and outlives the watch.
  explicit ArenaWatch(ArenaFile& arena);

  // To be called while it is intact.
  void set_state(ArenaState state);

  // Takes what is there now. False, from then on: it was overwritten or truncated.
  bool look();
  bool is_intact() const { return is_intact_; }

  // The last that was found good.
  const ArenaHeader& last() const { return last_; }

private:
  bool follows(const ArenaHeader& now, std::uint64_t elapsed_ns) const;

  ArenaFile& arena_;
  ArenaHeader last_;
  std::uint64_t seen_ns_;
  bool is_intact_ = true;
};

} // namespace iotrail::capture::preload
