// SPDX-License-Identifier: BSD-3-Clause
//
// The first part of the report: which trace this is, and whether it can be believed.
#pragma once

#include "analysis/engine.hpp"
#include "output/sink.hpp"
#include "output/small_result.hpp"

namespace iotrail::output {

// What is damaged or missing, as far as the reader has found out; none: nothing. Not yet printable.
std::vector<std::string> damage_sentences(const store::TraceReader& trace);

// "app, syscall; not recorded: vfs": the layers asked for, last those of which no hook serves any event.
std::string layers_text(const store::Manifest& manifest);

// What was recorded, for how long, and whether all of it is here.
// `selection`: what the report is narrowed down to; empty: nothing.
void print_trace_header(const store::TraceReader& trace, std::string_view selection, Sink& sink,
                        std::size_t width);

// Where and at what cost it was recorded.
void print_recording(const store::Manifest& manifest, Sink& sink, std::size_t width);

// One line: what was asked for and not recorded; nothing if all was. The reasons are for `iotrail doctor`.
std::string refusals_text(const store::Manifest& manifest);

// What was left out by chance or for being too little, and what that does to the numbers; none where all was recorded.
std::vector<std::string> choice_sentences(const store::Manifest& manifest);

void print_refusals(const store::Manifest& manifest, Sink& sink, std::size_t width);

// Losses one by one, or that there are none. `totals`: SELECT * FROM loss_totals.
void print_losses(const store::TraceReader& trace, const SmallResult& totals, Sink& sink,
                  std::size_t width);

} // namespace iotrail::output
