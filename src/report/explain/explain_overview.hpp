// SPDX-License-Identifier: BSD-3-Clause
//
// The answer before the details, if `explain` shows several operations.
#pragma once

#include <vector>

#include "report/document.hpp"
#include "report/explain/explain_parts.hpp"
#include "report/small_result.hpp"

namespace iotrail::output {

// So many fit on one screen with their details.
inline constexpr std::size_t kWithoutOverview = 3;

// What took the time of all of them, and a row for each with its largest part. `heads` has a row for
// each operation, in the same order.
Section overview_section(const SmallResult& heads, const std::vector<Operation>& operations);

} // namespace iotrail::output
