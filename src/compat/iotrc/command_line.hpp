// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/console.hpp"

namespace iotrail::compat::iotrc {

// The command line of iotrc. Prints its errors on standard error. Returns the exit status.
Result<int> run(const cli::Console& console, const std::vector<std::string>& arguments);

} // namespace iotrail::compat::iotrc
