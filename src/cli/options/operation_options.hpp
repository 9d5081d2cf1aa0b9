// SPDX-License-Identifier: BSD-3-Clause
//
// The options that say which operations are recorded, with all that they cause.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.hpp"
#include "capture/selection/filter.hpp"

namespace iotrail::cli {

// Fills `wanted.operations` and `excluded.operations`.
void declare_operations(CLI::App& app, capture::Selector& wanted, capture::Selector& excluded);

// Refuses unknown names of `option`.
Result<void> check_operation_names(std::string_view option, const std::vector<std::string>& names);

// Whether all names are of calls into the C library alone, such as fwrite.
bool are_library_calls(const std::vector<std::string>& names);

// Refuses unknown names, and choices that would record nothing. The filter has its layers and
// events.
Result<void> check_operations(const capture::Filter& filter);

} // namespace iotrail::cli
