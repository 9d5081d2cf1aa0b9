// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/ring_memory.hpp"

#include <errno.h>
#include <sys/mman.h>

#include "capture/preload/library/attachment.hpp"
#include "capture/preload/shared/raw_syscalls.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace iotrail::capture::preload {

namespace {

constexpr iot_u32 kFirstReady = 1024; // slots with memory in a new place, and
constexpr iot_u32 kMoreReady = 4096;  // further slots each time, until all have memory
constexpr iot_u32 kAskAgain = 4096;   // calls lost before the next request after a failed one

} // namespace

iot_u32 raise_ready(iot_u32* ready, iot_u32 to) {
  iot_u32 seen = __atomic_load_n(ready, __ATOMIC_ACQUIRE);
  while (seen < to && !__atomic_compare_exchange_n(ready, &seen, to, false, __ATOMIC_RELEASE,
                                                   __ATOMIC_ACQUIRE)) {
  }
  return seen < to ? to : seen;
}

namespace {

// Allocates memory behind items up to `wanted` before their first use. A full file system must be
// an error here, not a silent loss of a call. Kernels before 5.14 cannot do this.
bool make_ready(unsigned char* items, iot_u32 item_bytes, iot_u32 all, iot_u32* ready,
                iot_u32 wanted) {
  const iot_u32 from = __atomic_load_n(ready, __ATOMIC_ACQUIRE);
  const iot_u32 to = wanted < all ? wanted : all;
  if (from >= to)
    return true;
  const iot_u64 begin = static_cast<iot_u64>(from) * item_bytes / kPageBytes * kPageBytes;
  const iot_u64 bytes = round_to_page(static_cast<iot_u64>(to) * item_bytes) - begin;
  const long result = raw_syscall(SYS_madvise, address(items + begin), static_cast<long>(bytes),
                                  MADV_POPULATE_WRITE);
  if (result == -EFAULT || result == -ENOMEM)
    return false;
  raise_ready(ready, to);
  return true;
}

bool make_records_ready(unsigned char* ring, iot_u32* ready, iot_u32 more) {
  const iot_u32 slots = g_attachment.made.slots;
  return make_ready(ring, sizeof(RawRecord), slots, ready, *ready + more);
}

} // namespace

unsigned char* mapped_rings(iot_u32 place, iot_u64* bytes) {
  *bytes = g_attachment.made.ring_stride;
  return g_attachment.contexts == nullptr
             ? nullptr
             : reinterpret_cast<unsigned char*>(g_attachment.contexts[place].slots);
}

// The arena's path may be out of reach, as after chroot, and the host would see and close a
// descriptor of it. So its pages are mapped from an existing mapping in the host.
unsigned char* map_rings(iot_u32 place) {
  const ArenaHeader& arena = g_attachment.made;
  iot_u64 bytes = 0;
  if (unsigned char* const rings = mapped_rings(place, &bytes); rings != nullptr)
    return rings;
  const auto size = static_cast<long>(bytes);
  const long at = raw_syscall(SYS_mremap, address(g_recording.arena), 0, size, MREMAP_MAYMOVE);
  if (!is_address(at))
    return nullptr;
  const iot_u64 first_page = (arena.rings_offset + place * arena.ring_stride) / kPageBytes;
  if (raw_syscall(SYS_remap_file_pages, at, size, 0, static_cast<long>(first_page), MAP_NONBLOCK) !=
      0) {
    raw_syscall(SYS_munmap, at, size);
    return nullptr;
  }
  raw_syscall(SYS_madvise, at, size, MADV_DONTDUMP);
  raw_syscall(SYS_madvise, at, size, MADV_DONTFORK); // a child has its own places
  g_attachment.contexts[place].slots =
      pointer<RawRecord>(at); // even without memory behind them: a later request finds them
  return pointer<unsigned char>(at);
}

bool make_first_ready(ThreadSlot& place, unsigned char* rings) {
  const ArenaHeader& arena = g_attachment.made;
  if (place.ready_slots == 0 && !make_records_ready(rings, &place.ready_slots, kFirstReady))
    return false;
  return place.ready_cells != 0 || make_ready(rings + text_offset(arena.slots), kCellBytes,
                                              arena.cells, &place.ready_cells, kFirstReady);
}

bool has_memory(Context& context, iot_u64 head) {
  iot_u32* const ready = &context.place->ready_slots;
  if (*ready > context.mask || head < *ready)
    return true;
  if (context.no_memory != 0) {
    --context.no_memory;
    return false;
  }
  if (make_records_ready(reinterpret_cast<unsigned char*>(context.slots), ready, kMoreReady))
    return true;
  context.no_memory = kAskAgain;
  return false;
}

bool make_text_ready(Context& context, iot_u64 wanted) {
  const iot_u32 all = g_attachment.made.cells;
  if (context.no_memory != 0)
    return false;
  return make_ready(context.text, kCellBytes, all, &context.place->ready_cells,
                    static_cast<iot_u32>(wanted < all ? wanted : all) + kFirstReady);
}

// If a handler forks between counting and reserving, the child counts in its own place.

} // namespace iotrail::capture::preload
