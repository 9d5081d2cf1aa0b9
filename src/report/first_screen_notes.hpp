// SPDX-License-Identifier: BSD-3-Clause
//
// What the first screen says besides its verdict: calls that did not do what the program asked for,
// page faults, and filters.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "base/result.hpp"
#include "report/document.hpp"

namespace iotrail::output {

// Calls that had not ended, the longest first.
Result<std::vector<Sentence>> hangs_of(analysis::Engine& engine);

// Calls that failed for a lack of space or the like, the most frequent first:
// "FAILED: write of dd on /data/d, 3 times, with ENOSPC: no space left"
Result<std::vector<Sentence>> refusals_of(analysis::Engine& engine);

// Page faults on mapped files: their time is part of no call.
struct PageFaults {
  std::uint64_t bytes = 0;     // read for them by devices
  std::uint64_t device_ns = 0; // with at least one such request at a device
  double device_share = 0;     // of the run
  std::uint64_t wait_ns = 0;   // programs waited in them, outside of calls; 0: or not recorded
  double wait_share = 0;
};

Result<PageFaults> page_faults_of(analysis::Engine& engine);

// What they cost; empty: too little to say.
Sentence faults_sentence(const PageFaults& faults);

// Which I/O filters have left out; empty: none. A snapshot leaves none out.
Sentence filters_sentence(const store::Manifest& manifest);

} // namespace iotrail::output
