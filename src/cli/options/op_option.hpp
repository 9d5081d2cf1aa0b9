// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace iotrail::cli {

// The value of --op: an operation as other verbs print it, or its number; "" is none.
Result<void> check_op(std::string_view op);

} // namespace iotrail::cli
