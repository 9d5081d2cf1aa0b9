// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/preload/names.hpp"

namespace iotrail::capture::preload {

// Whose call it was, and its position in the ring of its place.
struct Origin {
  io_u32 place;
  io_u64 position;
  io_u32 pid;
  io_u32 tid;
};

// Makes the event that the call of a record stands for and appends it. False: there is no such call.
bool convert(const RawRecord& raw, const Origin& origin, const TickClock& clock, Names& names,
             PendingPaths& paths, store::TraceWriter& writer);

} // namespace iotrail::capture::preload
