// SPDX-License-Identifier: BSD-3-Clause
//
// From when on events may be missing, by what they would have told: what the engine finds after it is not called exact
// where one of them could have changed it.
#pragma once

#include <cstdint>

#include "store/reader/trace_reader.hpp"

namespace iotrail::trail {

// Each the earliest time at which an event of its kind, of a span its begin, may lie that is not in the trace.
// UINT64_MAX: none is missing.
struct LossTimes {
  std::uint64_t calls_ns = UINT64_MAX;  // that read, write or cut off files
  std::uint64_t pages_ns = UINT64_MAX;  // became dirty, or left the cache
  std::uint64_t blocks_ns = UINT64_MAX; // bios and requests
  bool are_completions_missed = false;  // the kernel did not tell of some, whose bios are all there

  // An event of this layer, as schema/layers.def numbers them; 0: of any.
  void note(std::uint32_t layer, std::uint64_t from_ns);
  // From when on it is not sure what of a file is dirty, and whose it is.
  std::uint64_t dirty_ns() const;
};

// Of the table `losses`, the counters and the state of a trace. What is damaged is only known when all was read.
LossTimes find_loss_times(const store::TraceReader& trace, bool are_calls_of_vfs);

} // namespace iotrail::trail
