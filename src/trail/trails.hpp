// SPDX-License-Identifier: BSD-3-Clause
//
// The trails of a trace. Takes one pass over the events that say where data went.
#pragma once

#include "store/trace_reader.hpp"
#include "trail/link.hpp"

namespace iotrail::trail {

Trails find_trails(const store::TraceReader& trace);

} // namespace iotrail::trail
