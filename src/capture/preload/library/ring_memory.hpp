// SPDX-License-Identifier: BSD-3-Clause
//
// Memory behind the rings of a place, allocated before its first use.
#pragma once

#include "capture/preload/library/call_recorder.hpp"

namespace iotrail::capture::preload {

// Raises `*ready` to at least `to`; other threads and processes may do the same. Returns the new
// value.
iot_u32 raise_ready(iot_u32* ready, iot_u32 to);

// The rings of a place. The process maps them when a thread first has the place, and keeps them.
// Null: not available.
unsigned char* map_rings(iot_u32 place);

// The same if they are mapped already, else null.
unsigned char* mapped_rings(iot_u32 place, iot_u64* bytes);

// Allocates the first memory of a new place. False: no memory.
bool make_first_ready(ThreadSlot& place, unsigned char* rings);

// Whether there is memory behind the records at `head`. A failed request is slow, so it is not
// repeated at every call.
bool has_memory(Context& context, iot_u64 head);

} // namespace iotrail::capture::preload
