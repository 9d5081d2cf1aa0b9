// SPDX-License-Identifier: BSD-3-Clause
//
// The times from which events may be missing, by kind. A later result is not exact if such an event
// could have changed it.
#pragma once

#include <cstdint>

#include "store/reader/trace_reader.hpp"

namespace iotrail::trail {

// Each is the earliest possible time of a missing event of its kind; for a span, of its begin.
// UINT64_MAX: none is missing.
struct LossTimes {
  std::uint64_t calls_ns = UINT64_MAX;  // calls that read, write or cut files
  std::uint64_t pages_ns = UINT64_MAX;  // pages that became dirty, or left the cache
  std::uint64_t blocks_ns = UINT64_MAX; // bios and requests
  bool are_completions_missed = false;  // the kernel did not report some; their bios are all there

  // An event of this layer, as numbered in schema/layers.def; 0: of any.
  void note(std::uint32_t layer, std::uint64_t from_ns);
  // From this time on, the dirty bytes of files and their owners are uncertain.
  std::uint64_t dirty_ns() const;
};

// From the table `losses`, the counters and the state of a trace. Damage is known only after
// everything was read.
LossTimes find_loss_times(const store::TraceReader& trace, bool are_calls_of_vfs);

} // namespace iotrail::trail
