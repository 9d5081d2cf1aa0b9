// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/result.hpp"
#include "export/format.hpp"

namespace iotrail::cli {

// "text, csv, json"
std::string format_names();

Result<const output::Format*> parse_format(const std::string& name);

} // namespace iotrail::cli
