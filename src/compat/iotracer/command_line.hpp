// SPDX-License-Identifier: BSD-3-Clause
//
// `iotracer DIR [MAX_EVENTS=N]`: what loading the b-com kernel module does, with its control files in DIR instead of
// /proc/iotracer. It ends by Ctrl-C, SIGTERM, or when DIR is unmounted, as unloading the module does.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/console.hpp"

namespace iotrail::compat::iotracer {

Result<int> run(const cli::Console& console, const std::vector<std::string>& arguments);

} // namespace iotrail::compat::iotracer
