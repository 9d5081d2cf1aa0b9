// SPDX-License-Identifier: BSD-3-Clause
//
// Memory behind the rings of a place, asked for before it is touched.
#pragma once

#include "capture/preload/library/call_recorder.hpp"

namespace iotrail::capture::preload {

// Raises `*ready` to at least `to`; other threads and processes may do the same. Returns what it is then.
iot_u32 raise_ready(iot_u32* ready, iot_u32 to);

// The rings of a place, which this process maps when a thread of it first has the place, and keeps. Null: they cannot be had.
unsigned char* map_rings(iot_u32 place);

// The same where they are mapped already, else null.
unsigned char* mapped_rings(iot_u32 place, iot_u64* bytes);

// What a new place needs at first. False: there is no memory.
bool make_first_ready(ArenaPlace& place, unsigned char* rings);

// Memory behind the records at `head`. Asking in vain is slow, so that it is not done at every call.
bool has_memory(Context& context, iot_u64 head);

} // namespace iotrail::capture::preload
