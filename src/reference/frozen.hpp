// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iotrail::output {

// Lines of `frozen` missing in `current`: this version has changed something that old traces depend
// on.
std::vector<std::string> broken_promises(std::string_view frozen, std::string_view current);

// Lines of `current` that are missing in `frozen`.
std::vector<std::string> new_promises(std::string_view frozen, std::string_view current);

} // namespace iotrail::output
