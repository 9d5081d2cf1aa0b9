// SPDX-License-Identifier: BSD-3-Clause
//
// JSON objects as rows of CSV, with dotted names as columns: {"io":{"lba":"8"}} is 8 in the column io.lba.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "text/sink.hpp"

namespace iotrail::compat::iotrace {

// The dotted names of an object, in its order.
std::vector<std::string> columns_of(const nlohmann::ordered_json& object);

void put_header(output::Sink& sink, const std::vector<std::string>& columns);
// An absent member is empty. On a terminal, control characters of names are shown as \x1b.
void put_row(output::Sink& sink, const std::vector<std::string>& columns,
             const nlohmann::ordered_json& object);

} // namespace iotrail::compat::iotrace
