// SPDX-License-Identifier: BSD-3-Clause
//
// The trails of a trace. Takes one pass over the events that show where data moved.
#pragma once

#include <cstdint>

#include "store/reader/trace_reader.hpp"
#include "trail/state/link.hpp"

namespace iotrail::trail {

Trails find_trails(const store::TraceReader& trace);

// Bytes that devices completed: all, those with a known operation or process, and the exact ones
// among these.
struct CompletedBytes {
  std::uint64_t all = 0;
  std::uint64_t attributed = 0;
  std::uint64_t exact = 0;
};
CompletedBytes sum_completed(const Trails& trails);

} // namespace iotrail::trail
