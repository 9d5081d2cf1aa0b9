// SPDX-License-Identifier: BSD-3-Clause
//
// The engine: replays the facts of a trace in the order of time, and says of all bytes that bios carried who caused
// them. One pass; in memory are the links, what of each file is dirty or was read ahead, and what is in flight.
// The driver feeds each fact to the rules, one file each in rules/. Not for several threads at once.
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
  // In the order of time.
  void step(const Fact& fact);
  // After the last one.
  Trails finish();
  // A file turns out to lie below another and is known as that one from now on, with what of it is dirty.
  void take_over(std::uint32_t below, std::uint32_t above);

private:
  bool may_have_stored_more(const Fact& call) const;
  void note_doubt(const Fact& call);
  void begin_truncation(const Fact& fact);
  void begin_call(const Fact& fact);
  void end_call(std::uint64_t op_id);
  void end_calls(std::uint64_t until_ns);
  void drop(const Fact& fact);

  std::uint64_t calls_begun_ = 0;
  using End = std::pair<std::uint64_t, std::uint64_t>; // time, op_id
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::multimap<std::uint64_t, Fact> drops_; // calls in flight that give pages up, by their end
};

} // namespace iotrail::trail
