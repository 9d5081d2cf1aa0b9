// SPDX-License-Identifier: BSD-3-Clause
//
// The answer on one screen: whether I/O slows the run, what the run divides into, which calls and
// programs matter, what was found, and what to type next. It fits 80 columns and 24 lines.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"
#include "report/findings.hpp"

namespace iotrail::output {

// Steps of the engine's progress in judge() and make_first_screen().
std::uint64_t first_screen_steps();

// An engine with findings_engine_options() computes shared views once. `selection`: what the answer is
// narrowed down to; empty: nothing.
Result<Document> make_first_screen(analysis::Engine& engine, std::string_view selection,
                                   const Judgement& judgement);

// Puts the verdict, what was noticed and the findings before the sections of a report for programs.
Result<void> add_answer(analysis::Engine& engine, std::string_view selection,
                        const Judgement& judgement, Document& report);

} // namespace iotrail::output
