// SPDX-License-Identifier: BSD-3-Clause
//
// Makes an answer in a process of its own, which can be ended whatever it does: a query that does
// not end, too much memory, a fault. Call it while this process has one thread.
#pragma once

#include <functional>
#include <string>

#include "analysis/engine/query_timer.hpp"
#include "base/result.hpp"

namespace iotrail::serve {

// Makes the answer. Its argument ends the process, with the reason as its answer.
using Make = std::function<Result<std::string>(const analysis::OnOverdue&)>;

// At most `bytes_most` of the text; what is longer is cut at the end of a line, and a last line says
// so.
Result<std::string> made_by_child(const Make& make, int limit_ms, std::size_t bytes_most);

} // namespace iotrail::serve
