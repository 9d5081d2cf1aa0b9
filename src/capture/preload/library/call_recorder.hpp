// SPDX-License-Identifier: BSD-3-Clause
//
// The core of the preload library: turns a call into a record in the ring of its thread. The hot
// path is inline here; rare work (attaching to the arena, claiming a place, a full ring) is in
// call_recorder.cpp.
//
// Rules for the whole library: no allocation, no lock, no hooked function of the C library, errno
// kept. A signal handler may run at any point and make calls of its own. The library never ends or
// delays the host program.
#pragma once

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "capture/preload/shared/record_layout.hpp"

// On the path of every call: the compiler would not inline it into each wrapper by itself.
#define IOTRAIL_HOT [[gnu::always_inline]] inline

// For variables declared before their definition: avoids the global offset table.
#define IOTRAIL_HIDDEN __attribute__((visibility("hidden")))

namespace iotrail::capture::preload {

// State that a thread needs to write a record. The kernel wipes this memory in a forked child, so
// that a child never writes to its parent's ring. `place` is then null, and the slow path claims a
// place for the child.
struct Context {
  ThreadSlot* place; // null: none claimed
  RawRecord* slots;
  iot_u64 limit;        // positions from here on need a check of the collector's progress
  iot_u64 mask;         // slots - 1
  const iot_u32* files; // by descriptor, as in descriptors.hpp,
  iot_u32 file_limit;   // of descriptors below this
  unsigned char* text;
  iot_u32 index;     // of the place
  iot_u32 no_memory; // calls to skip before the next request for memory; 0: memory is there
};
static_assert(sizeof(Context) <= IOT_CACHE_LINE);

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit __thread Context* t_context IOTRAIL_HIDDEN; // never null
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit Context g_no_context IOTRAIL_HIDDEN; // without a place

// State of the whole process; set by attaching, inherited by forked children.
struct Recording {
  bool on;  // attached: the arena and its clock are known
  bool off; // no arena in the environment, or it was closed; not set before that is known
  bool tsc;
  bool is_untimed;    // a read of the clock might kill the program, so its calls are lost
  iot_u64 event_mask; // recorded ones, by number of the event in its layer
  iot_u64
      quick_mask; // the same, if no other check is needed: attached, on, and timed by the counter
  ArenaHeader* arena; // null: not attached
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit Recording g_recording IOTRAIL_HIDDEN;

// Attaches if that was not tried yet: a call must not be timed by another clock than the arena's.
bool is_off_slowly();

inline bool is_off() {
  return __builtin_expect(!__atomic_load_n(&g_recording.on, __ATOMIC_ACQUIRE), false) &&
         is_off_slowly();
}

// Time of the arena's clock, if the clock is not the counter.
iot_u64 clock_ticks();

// Whether calls of the kind may take the quick path.
template <iot_u16 kKind> IOTRAIL_HOT bool is_quick() {
  return __builtin_expect((g_recording.quick_mask >> (kKind & 0xffU) & 1U) != 0, true);
}

// 0: the clock must not be read.
template <bool kQuick = false> IOTRAIL_HOT iot_u64 ticks() {
  if (!kQuick && __builtin_expect(g_recording.is_untimed, false))
    return 0;
#if defined(__x86_64__)
  if (kQuick || g_recording.tsc)
    return __rdtsc();
#endif
  return clock_ticks();
}

// At the very first call, which may come before any constructor has run.
void attach();

// The context of this thread, after claiming a place; null: none is free (counted unless the
// recording is off).
Context* claim();

// Returns the place of a thread that is about to end. A later call claims a new one.
void release_place();

// Counts a call that the owner of the place decides to record, or takes that back. It is one
// instruction, so that a signal handler counts right. A lock prefix would be too expensive: only
// raw clone() lets two threads share a place.
IOTRAIL_HOT void count_produced(ThreadSlot& place, iot_s64 calls = 1) {
#if defined(__x86_64__)
  __asm__ volatile("addq %1, %0" : "+m"(place.produced) : "er"(calls));
#else
  __atomic_fetch_add(&place.produced, static_cast<iot_u64>(calls), __ATOMIC_RELAXED);
#endif
}

// Target of a record; null context: the call is lost and has been counted, or the recording is off.
struct Reserved {
  Context* context;
  iot_u64 position;
};

// `counted`: the place that has already counted the call as produced; null: none.
Reserved reserve_slowly(const Context* counted);

IOTRAIL_HOT Reserved reserve() {
  Context* const context = t_context;
  ThreadSlot* const place = context->place;
  if (__builtin_expect(place == nullptr, false))
    return reserve_slowly(nullptr);
  count_produced(*place);
  iot_u64 head = __atomic_load_n(&place->records.head, __ATOMIC_RELAXED);
  if (__builtin_expect(head < context->limit, true) &&
      __atomic_compare_exchange_n(&place->records.head, &head, head + 1, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED))
    return {context, head};
  return reserve_slowly(context);
}

// Counts a call that is lost because it could not be timed.
void count_untimed();

template <iot_u16 kKind, class Event> IOTRAIL_HOT void pack(RawRecord& raw, const Event& e) {
  const auto* const event = reinterpret_cast<const unsigned char*>(&e);
  [&]<std::size_t... kField>(std::index_sequence<kField...>) __attribute__((always_inline)) {
    (__builtin_memcpy(raw.fields + kCarried<kKind>[kField].in_record,
                      event + kCarried<kKind>[kField].in_event, kCarried<kKind>[kField].size),
     ...);
  }(std::make_index_sequence<kCarried<kKind>.size()>());
  if constexpr (kErrorOffset<kKind> != 0)
    raw.error = static_cast<short>(*reinterpret_cast<const iot_s64*>(event + kErrorOffset<kKind>));
}

// Whether the call is excluded, for an event with some excluded calls.
bool is_left_out(iot_u16 call);

template <iot_u16 kKind, bool kQuick, class Event>
IOTRAIL_HOT void write_record(iot_u16 call, iot_u64 begin, iot_u64 end, const Event& e) {
  if (!kQuick && (g_recording.event_mask >> (kKind & 0xffU) & 1U) == 0)
    return;
  if (!kQuick && is_left_out(call))
    return;
  if (!kQuick && __builtin_expect(begin == 0 || end == 0, false))
    return count_untimed();
  const auto [context, position] = reserve();
  if (__builtin_expect(context == nullptr, false))
    return;
  RawRecord& raw = context->slots[position & context->mask];
  raw.call = call;
  raw.begin = begin;
  raw.end = end;
  pack<kKind>(raw, e);
  __atomic_store_n(&raw.tag, static_cast<iot_u32>(position + 1), __ATOMIC_RELEASE);
}

// Provides memory behind the text cells before `wanted`; false: none.
bool make_text_ready(Context& context, iot_u64 wanted);

// --- text (text.cpp) ---

struct Bytes {
  const void* data;
  iot_u32 size;
};

// Puts a message into the text ring of this thread; the parts are joined. Returns the reference for
// records, or 0 if the message was dropped (counted).
iot_u32 send_text(TextHeader header, const Bytes* parts, int part_count);

// Text of a path argument. Reads the caller's memory in a way that cannot fault, unless `result`
// proves it readable.
iot_u32 text_of(const char* path, iot_s64 result);

// Copies readable memory of this process; false: only a part was readable.
bool copy_safely(void* to, const void* from, iot_u64 bytes);

void send_process();

// Reads a small /proc file into the buffer; returns bytes read, 0 on failure.
iot_u32 read_file(const char* path, char* to, iot_u32 room);

// --- process (process.cpp) ---

// The process id, valid unless this is a forked child that has not been noticed yet.
iot_s32 process_id();

} // namespace iotrail::capture::preload
