// SPDX-License-Identifier: BSD-3-Clause
//
// The first part of the report: which trace this is, and whether it can be believed.
#pragma once

#include "analysis/engine/engine.hpp"
#include "report/small_result.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

// Where a lost manifest would say it.
inline constexpr std::string_view kNotKnown = "not known";

// "host, Linux 6.1.0, x86_64, 2 CPUs", as far as it is known.
std::string machine_text(const store::Manifest& manifest);

// "app, syscall; not recorded: vfs": the layers asked for, last those of which no hook serves any event.
std::string layers_text(const store::Manifest& manifest);

// What was recorded, for how long, and whether all of it is here.
// `selection`: what the report is narrowed down to; empty: nothing.
void print_trace_header(const store::TraceReader& trace, std::string_view selection, Sink& sink,
                        std::size_t width);

// Where and at what cost it was recorded.
void print_recording(const store::TraceReader& trace, Sink& sink, std::size_t width);

// One line: what was asked for and not recorded; nothing if all was. The reasons are for `iotrail doctor`.
std::string refusals_text(const store::Manifest& manifest);

// That files lie on file systems of which the layer fs, which was recorded, has no event; empty: none do.
std::string bare_file_systems_text(const store::Manifest& manifest);

void print_refusals(const store::Manifest& manifest, Sink& sink, std::size_t width);

// A sentence for each counter of events that may be missing. `totals`: as below.
void print_gaps(const SmallResult& totals, Sink& sink, std::size_t width);

// Losses one by one, or that there are none. `totals`: SELECT * FROM loss_totals.
void print_losses(const store::TraceReader& trace, const SmallResult& totals, Sink& sink,
                  std::size_t width);

} // namespace iotrail::output
