// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/console.hpp"

namespace iotrail::compat::io_trace {

// The command line of io_trace.py. Prints its errors on standard error. Returns the exit status.
Result<int> run(const cli::Console& console, const std::vector<std::string>& arguments);

} // namespace iotrail::compat::io_trace
