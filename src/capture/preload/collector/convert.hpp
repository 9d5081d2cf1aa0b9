// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/preload/collector/arena_ids.hpp"
#include "capture/selection/hold_back.hpp"

namespace iotrail::capture::preload {

// Whose call it was, and its position in the ring of its place.
struct Origin {
  iot_u32 place;
  iot_u64 position;
  iot_u32 pid;
  iot_u32 tid;
};

// Makes the event that the call of a record stands for and appends it, where enough was done. False: there is no such call.
bool convert(const RawRecord& raw, const Origin& origin, const TickClock& clock, ArenaIds& ids,
             PendingPaths& paths, HoldBack& hold_back, store::TraceWriter& writer);

} // namespace iotrail::capture::preload
