// SPDX-License-Identifier: BSD-3-Clause
//
// The inside of the preload library: how a call becomes a record in the ring of its thread. The hot path is inline
// here; whatever happens rarely (attaching to the arena, claiming a place, a full ring) is in recorder.cpp.
//
// Rules for all of the library: no allocation, no lock, no function of the C library that is hooked, errno kept. A
// signal handler may run at any point and make calls of its own. Nothing here ever ends or delays the host program.
#pragma once

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "capture/preload/arena.hpp"

// On the way of every call: the compiler would rather not repeat it in each of the wrappers.
#define IOTRAIL_HOT [[gnu::always_inline]] inline

namespace iotrail::capture::preload {

// What a thread needs to write a record. Lies in memory that the kernel wipes in a forked child, so that a child
// never writes to its parent's ring: `ring` is then null and the slow path claims a place for the child.
struct Context {
  io_ring_control* ring; // null: no place claimed
  RawRecord* slots;
  io_u64 limit; // positions from here on need a look at the collector's progress
  io_u64 mask;  // slots - 1
  Place* place;
  unsigned char* text;
  io_u32 index;       // of the place
  io_u32 no_memory;   // calls to let go by before memory is asked for again; 0: there was some
  io_u32 after_vfork; // a vfork child may be the one who runs, in its parent's memory
};
static_assert(sizeof(Context) <= IO_CACHE_LINE);

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit __thread Context* t_context; // never null

// What the whole process shares; set by attaching, inherited by forked children.
struct Recording {
  bool on;  // attached: the arena and its clock are known
  bool off; // no arena was named, or it was closed; not set before that is known
  bool tsc;
  io_u64 event_mask;
  ArenaHeader* arena; // null: not attached
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit Recording g_recording;

// Attaches where that has not been tried: a call must not be timed by a clock that is not the arena's.
bool is_off_slowly();

inline bool is_off() {
  return __builtin_expect(!__atomic_load_n(&g_recording.on, __ATOMIC_ACQUIRE), false) &&
         is_off_slowly();
}

// Of the arena's clock where that is not the counter.
io_u64 clock_ticks();

IOTRAIL_HOT io_u64 ticks() {
#if defined(__x86_64__)
  if (__builtin_expect(g_recording.tsc, true))
    return __rdtsc();
#endif
  return clock_ticks();
}

// At the first call of all, which may come before any constructor has run.
void attach();

// The context of this thread with a place claimed; null: none can be had (counted unless the recording is off).
Context* claim();

// The thread is about to end; its place is given back. A later call claims a new one.
void release_place();

// A position in the ring of this thread; null: the call is lost and has been counted, or the recording is off.
Context* reserve_slowly(io_u64* position);

IOTRAIL_HOT Context* reserve(io_u64* position) {
  Context* const context = t_context;
  if (io_ring_control* const ring = context->ring; __builtin_expect(ring != nullptr, true)) {
    io_u64 head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    if (__builtin_expect(head < context->limit, true) &&
        __atomic_compare_exchange_n(&ring->head, &head, head + 1, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      *position = head;
      return context;
    }
  }
  return reserve_slowly(position);
}

template <class Event> IOTRAIL_HOT void pack(RawRecord& raw, const Event& e) {
#define SLOT(event, field, slot)                                                                   \
  if constexpr (__is_same(Event, io_##event))                                                      \
    raw.slot = static_cast<decltype(raw.slot)>(e.field);
#define ADDRESS_OR_ERROR(event, address, error, slot)                                              \
  if constexpr (__is_same(Event, io_##event))                                                      \
    raw.slot = e.error < 0 ? e.error : static_cast<io_s64>(e.address);
#include "layout.def"
#undef SLOT
#undef ADDRESS_OR_ERROR
}

template <class Event>
IOTRAIL_HOT void write_record(io_u16 kind, io_u16 call, io_u64 begin, io_u64 end, const Event& e) {
  if (__builtin_expect((g_recording.event_mask >> (kind & 63U) & 1U) == 0, false))
    return;
  io_u64 position = 0;
  Context* const context = reserve(&position);
  if (__builtin_expect(context == nullptr, false))
    return;
  RawRecord& raw = context->slots[position & context->mask];
  raw.call = call;
  raw.begin = begin;
  raw.end = end;
  pack(raw, e);
  __atomic_store_n(&raw.tag, static_cast<io_u32>(position + 1), __ATOMIC_RELEASE);
}

// Memory behind the text cells before `wanted`; false: there is none.
bool make_text_ready(Context& context, io_u64 wanted);

// --- text (text.cpp) ---

struct Bytes {
  const void* data;
  io_u32 size;
};

// Puts a message into the text ring of this thread; the parts are joined. Returns what a record refers to it by, 0 if
// the message was dropped (counted).
io_u32 send_text(TextHeader header, const Bytes* parts, int part_count);

// Text of a path argument. The caller's memory is read in a way that cannot fault unless `result` proves it readable.
io_u32 text_of(const char* path, io_s64 result);

// Copies what can be read of this process's own memory; false: not all of it could be.
bool copy_safely(void* to, const void* from, io_u64 bytes);

void send_process();

// --- process (process.cpp) ---

// The process id as long as this process is not a forked child that has not been noticed yet.
io_s32 process_id();

// Text in the environment that begins "NAME="; the value, or null.
const char* environment_value(const char* name);

// Remembers what the next program must be told to be followed too.
void remember_environment(const char* arena_path);

} // namespace iotrail::capture::preload
