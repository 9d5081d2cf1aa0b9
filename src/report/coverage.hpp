// SPDX-License-Identifier: BSD-3-Clause
//
// Why a trace has nothing of a layer or of an event: it was not recorded. What was recorded and did not happen is another
// answer. Empty where it was recorded, or where the trace does not tell.
#pragma once

#include <string>
#include <string_view>

#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

// Whether the trace is one of `stat`: it has aggregates, and no events.
bool has_sums(const store::TraceReader& trace);

// "layer block was not recorded"
std::string layer_not_recorded(const store::TraceReader& trace, std::string_view layer);

// "no block_split: the recording was not asked for it"
std::string event_not_recorded(const store::TraceReader& trace, const store::TableInfo& table);

} // namespace iotrail::output
