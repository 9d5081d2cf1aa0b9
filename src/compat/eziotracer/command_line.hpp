// SPDX-License-Identifier: BSD-3-Clause
//
// Two command lines: of bcc_iotracer.py, and of its wrapper iotracer.sh, which runs a command.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/console.hpp"

namespace iotrail::compat::eziotracer {

// Print their errors on standard error. Return the exit status.
Result<int> run_tracer(const cli::Console& console, const std::vector<std::string>& arguments);
Result<int> run_wrapper(const cli::Console& console, const std::vector<std::string>& arguments);

} // namespace iotrail::compat::eziotracer
