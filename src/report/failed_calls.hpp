// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that did not do what the program asked for: the first screen names a few.
#pragma once

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

} // namespace iotrail::output
