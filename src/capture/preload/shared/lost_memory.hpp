// SPDX-License-Identifier: BSD-3-Clause
//
// The arena is a file that others can truncate, in a file system that can be full: then a look at it is answered by SIGBUS,
// which would end this process. Instead, memory of the process's own, all zero, takes the arena's place. Of the library as
// of the collector.
#pragma once

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

// Where the rings of a place are mapped, and how many bytes; null: they are not. Called in a signal handler.
using MappedPart = unsigned char* (*)(iot_u32 place, iot_u64* bytes);

// From now on, until forget_arena(). One arena in a process: a later one takes the place of the first. What SIGBUS did
// before, it does as ever for all other addresses; once that has happened, it does so for these too.
// `part`: of the arena what is mapped elsewhere.
void survive_loss_of(void* arena, iot_u64 bytes, MappedPart part = nullptr);
void forget_arena(const void* arena);

// The memory there is no longer shared with anybody.
bool is_arena_lost();

} // namespace iotrail::capture::preload
