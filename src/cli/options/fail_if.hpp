// SPDX-License-Identifier: BSD-3-Clause
//
// A condition of `diff --fail-if`: METRIC(NAME) > LIMIT, such as p99(fdatasync) > 1.2x. Without a
// name it is of all operations. A limit with x is a factor; others are a time, a size or a count.
#pragma once

#include <string>

#include "base/result.hpp"
#include "report/diff/condition.hpp"

namespace iotrail::cli {

Result<output::Condition> parse_condition(const std::string& text);

} // namespace iotrail::cli
