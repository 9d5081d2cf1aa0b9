// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iotrail::output {

// Lines of `frozen` that `current` does not have: what an old trace depends on and this version has changed.
std::vector<std::string> broken_promises(std::string_view frozen, std::string_view current);

// Lines of `current` that `frozen` does not have yet.
std::vector<std::string> new_promises(std::string_view frozen, std::string_view current);

} // namespace iotrail::output
