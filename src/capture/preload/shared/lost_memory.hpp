// SPDX-License-Identifier: BSD-3-Clause
//
// The arena is a file that others can truncate, in a file system that can be full. Then an access
// causes SIGBUS, which would end this process. Instead, private zero-filled memory replaces the
// arena. Used by the library and the collector.
#pragma once

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

// The mapping of a place's rings and its size in bytes; null: not mapped. Called in a signal
// handler.
using MappedPart = unsigned char* (*)(iot_u32 place, iot_u64* bytes);

// Active until forget_arena(). One arena per process: a later one replaces the first. For all other
// addresses, SIGBUS keeps its earlier action; after such a signal it does so for the arena too.
// `part`: parts of the arena that are mapped elsewhere.
void survive_loss_of(void* arena, iot_u64 bytes, MappedPart part = nullptr);
void forget_arena(const void* arena);

// The memory at the arena's address is no longer shared.
bool is_arena_lost();

} // namespace iotrail::capture::preload
