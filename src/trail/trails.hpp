// SPDX-License-Identifier: BSD-3-Clause
//
// The trails of a trace. Takes one pass over the events that say where data went.
#pragma once

#include <cstdint>

#include "store/reader/trace_reader.hpp"
#include "trail/state/link.hpp"

namespace iotrail::trail {

Trails find_trails(const store::TraceReader& trace);

// Bytes that devices completed: all, those of an operation or a process that is known, and of these those beyond doubt.
struct CompletedBytes {
  std::uint64_t all = 0;
  std::uint64_t attributed = 0;
  std::uint64_t exact = 0;
};
CompletedBytes sum_completed(const Trails& trails);

} // namespace iotrail::trail
