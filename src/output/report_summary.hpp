// SPDX-License-Identifier: BSD-3-Clause
//
// The first part of the report: which trace this is, and whether it can be believed.
#pragma once

#include "analysis/engine.hpp"
#include "output/sink.hpp"
#include "output/small_result.hpp"

namespace iotrail::output {

// "app, syscall; not recorded: vfs": the layers asked for, last those of which no hook serves any event.
std::string layers_text(const store::Manifest& manifest);

void print_trace_header(const store::TraceReader& trace, Sink& sink);

// What was asked for and not recorded, with the reason and what would change it.
void print_refusals(const store::Manifest& manifest, Sink& sink);

// Losses, damage, a missing end; or that there are none. `totals`: SELECT * FROM loss_totals, after all other queries
// of the report, since damage is found by reading.
void print_losses(const store::TraceReader& trace, const SmallResult& totals, Sink& sink);

} // namespace iotrail::output
