// SPDX-License-Identifier: BSD-3-Clause
//
// The answer on one screen: whether I/O slows the run, what the run divides into, which calls and
// programs matter, what was found, and what to type next. It fits 80 columns and 24 lines.
#pragma once

#include <string_view>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

// An engine with findings_engine_options() computes shared views once. `selection`: what the answer is
// narrowed down to; empty: nothing.
Result<Document> make_first_screen(analysis::Engine& engine, std::string_view selection);

} // namespace iotrail::output
