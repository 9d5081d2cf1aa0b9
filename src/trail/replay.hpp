// SPDX-License-Identifier: BSD-3-Clause
//
// The engine: replays the facts of a trace, sorted by time, and attributes all bytes of bios to
// their causes. One pass. Memory holds the links, the dirty and read-ahead ranges of each file, and
// everything in flight. It passes each fact to the rules, one file each in rules/. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "trail/state/state.hpp"

namespace iotrail::trail {

struct Replay : State {
  // Facts must be sorted by time.
  void step(const Fact& fact);
  // Call it after the last fact.
  Trails finish();
  // A file turns out to lie below another: from now on it counts as the file above, with its dirty
  // ranges.
  void take_over(std::uint32_t below, std::uint32_t above);

private:
  bool may_have_stored_more(const Fact& call) const;
  void note_doubt(const Fact& call);
  void begin_truncation(const Fact& fact);
  void begin_call(const Fact& fact);
  void end_call(std::uint64_t op_id);
  void end_calls(std::uint64_t until_ns);
  void finish_at_end(const Fact& fact);
  void drop(const Fact& fact);
  void count_failed();

  std::uint64_t calls_begun_ = 0;
  using End = std::pair<std::uint64_t, std::uint64_t>; // time, op_id
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::multimap<std::uint64_t, Fact> finishing_; // calls in flight with an effect at their end
};

} // namespace iotrail::trail
