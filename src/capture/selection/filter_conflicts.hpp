// SPDX-License-Identifier: BSD-3-Clause
//
// Filters that leave nothing to be recorded, though each of them is sound by itself.
#pragma once

#include "base/result.hpp"
#include "capture/selection/filter.hpp"

namespace iotrail::cli {

// Refuses them and says why. What does not exist is for others to find.
Result<void> check_conflicts(const capture::Filter& filter);

} // namespace iotrail::cli
