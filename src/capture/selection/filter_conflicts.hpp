// SPDX-License-Identifier: BSD-3-Clause
//
// Filters that exclude everything together, although each is valid alone.
#pragma once

#include "base/result.hpp"
#include "capture/selection/filter.hpp"

namespace iotrail::cli {

// Rejects them with the reason. Does not check that the things exist.
Result<void> check_conflicts(const capture::Filter& filter);

} // namespace iotrail::cli
