// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iotrail::analysis {

// Rewrites the engine's message on a wrong query: the reason without its class of errors, then the
// line with the place, then what to do. `relations` are the names of tables and views. A message of
// an unknown form keeps its words.
void make_plain(Error& error, const std::vector<std::string_view>& relations);

} // namespace iotrail::analysis
