// SPDX-License-Identifier: BSD-3-Clause
//
// Says that a trace has no rows of a layer or an event because they were not recorded. Empty if
// they were recorded but did not happen, or if the trace does not say.
#pragma once

#include <string>
#include <string_view>

#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

// Whether `stat` made the trace: it has aggregates and no events.
bool has_sums(const store::TraceReader& trace);

// "layer block was not recorded"
std::string layer_not_recorded(const store::TraceReader& trace, std::string_view layer);

// "no block_split: the recording was not asked for it"
std::string event_not_recorded(const store::TraceReader& trace, const store::TableInfo& table);

} // namespace iotrail::output
