// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "serve/answers/answers.hpp"

namespace iotrail::serve {

// Uses limits.memory_bytes and limits.on_overdue.
Result<std::unique_ptr<analysis::Engine>> open_engine(const TracePath& trace, const Limits& limits,
                                                      analysis::EngineOptions options);

} // namespace iotrail::serve
