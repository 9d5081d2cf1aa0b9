// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/preload/collector/arena_ids.hpp"
#include "capture/selection/deferred_filter.hpp"

namespace iotrail::capture::preload {

// The task of a call, and the call's position in the ring of its place.
struct Origin {
  iot_u32 place;
  iot_u64 position;
  iot_u32 pid;
  iot_u32 tid;
};

// Converts a record to an event, and appends it if the operation was large enough. False: invalid
// call number.
bool convert(const RawRecord& raw, const Origin& origin, const TickClock& clock, ArenaIds& ids,
             PendingPaths& paths, DeferredFilter& deferred_filter, store::TraceWriter& writer);

} // namespace iotrail::capture::preload
