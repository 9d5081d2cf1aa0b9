// SPDX-License-Identifier: BSD-3-Clause
//
// The memory that the preload library and the collector share: one file, made and owned by the collector, mapped by
// every traced process. Contains fixed-layout structures only; both sides are built from this header.
//
//   header | owners[places] | Place[places] | per place: record ring, text ring
//
// A place serves one thread at a time. Its positions never restart, so (place, position) names a call for ever.
// A process maps the rings inaccessible and opens only those it uses, so that they cost nothing, also under mlockall.
//
// Records: the protocol of capture/ring.h. Reserving is a compare-and-exchange with a lock prefix, since signal
// handlers and children that share memory write to the same ring.
// Text: messages of whole cells, reserved in the same way. The first word of a message is its commit mark; the
// collector zeroes the cells it has read, so that old text is never taken for a mark. A record that refers to a
// message is committed after it.
#pragma once

#include "capture/ring.h"

namespace iotrail::capture::preload {

inline constexpr char kArenaVariable[] = "IOTRAIL_PRELOAD_ARENA"; // path of the arena's file
inline constexpr io_u64 kArenaMagic = 0x31616e6572416f69ULL;
inline constexpr io_u32 kArenaVersion = 1;
inline constexpr io_u32 kPlaces = 4096;        // threads followed at one time
inline constexpr io_u32 kDefaultSlots = 65536; // records of one ring
inline constexpr io_u32 kPageBytes = 4096;
inline constexpr io_u32 kTextShare = 4;         // the text ring has 1/4 of the record ring's bytes
inline constexpr io_u32 kFileLimit = 1U << 26U; // file numbers of one recording
inline constexpr io_u32 kPathBytes = 4096;      // longest path kept, as in PATH_MAX
inline constexpr io_u32 kCommandBytes = 4096;   // longest command line kept

enum class ArenaState : io_u32 { open = 1, closed = 2 };
enum class ClockKind : io_u32 { monotonic = 0, tsc = 1 };

// One call. What the general fields stand for in each event is the table layout.def.
struct RawRecord {
  io_u32 tag; // commit mark, written last: low half of the position, plus 1
  io_u16 call;
  io_u16 unused;
  io_u64 begin; // in ticks of the arena's clock
  io_u64 end;
  io_s64 offset;
  io_u64 bytes;
  io_s64 result;
  io_u32 file;
  io_s32 fd;
  io_u32 first;
  io_u32 second;
};
static_assert(sizeof(RawRecord) == IO_CACHE_LINE);

enum class TextKind : io_u16 { path = 1, file = 2, process = 3 };

inline constexpr io_u32 kCellBytes = 64;

// Begins a message; `bytes` of text follow.
struct TextHeader {
  io_u32 mark; // 1: committed
  io_u16 kind;
  io_u16 cells; // of the whole message
  io_u32 bytes;
  io_u32 number;     // file: its number in the arena; process: pid
  io_u32 device;     // file: major << 20 | minor; process: parent's pid
  io_u32 generation; // file
  io_u32 mode;       // file
  io_u32 unused;
  io_u64 inode; // file: inode; process: time of attaching, in ticks
};
static_assert(sizeof(TextHeader) == 40);
inline constexpr io_u32 kTextCellsMax =
    (sizeof(TextHeader) + 2UL * kPathBytes + kCommandBytes + kCellBytes) / kCellBytes;

// An owner: 0, or who uses the place, as the process itself counts: pid << 32 | tid.
inline constexpr io_u64 kOwnerReleased =
    1ULL << 63U; // the thread has ended; the collector frees the place
constexpr io_u64 owner_of(io_s32 pid, io_s32 tid) {
  return static_cast<io_u64>(pid) << 32U | static_cast<io_u32>(tid);
}

struct Place {
  io_ring_control records;
  io_u64 text_head;     // in cells
  io_u64 claim;         // number of this claim in the arena; 0: not yet set
  io_u64 pid_namespace; // inode of the owner's; 0: not known
  io_u32 ready_slots;   // that have memory behind them; grows up to all
  io_u32 ready_cells;
  io_u64 pad[4];
  io_u64 text_tail; // written by the collector, on a line of its own
  io_u64 pad_tail[7];
};
static_assert(sizeof(Place) == sizeof(io_ring_control) + 2UL * IO_CACHE_LINE);
static_assert(sizeof(io_ring_control) % IO_CACHE_LINE == 0);

struct ArenaHeader {
  io_u64 magic;
  io_u32 version;
  io_u32 state; // ArenaState
  io_u32 clock; // ClockKind
  io_u32 places;
  io_u32 slots;      // of a record ring; a power of two
  io_u32 cells;      // of a text ring; a power of two
  io_u64 event_mask; // bit of an app event's number in its layer: it is wanted
  io_u64 rings_offset;
  io_u64 ring_stride; // bytes of one place's rings
  alignas(IO_CACHE_LINE) io_u64 next_claim;
  io_u32 next_file;
  io_u32 used_places;  // no place at or above was ever claimed
  io_u64 no_ring;      // calls lost since no place was free
  io_u64 text_full;    // messages dropped
  io_u64 not_followed; // programs executed that cannot be preloaded into
};
static_assert(sizeof(ArenaHeader) <= kPageBytes);

constexpr io_u64 round_to_page(io_u64 bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}
constexpr io_u64 owners_offset() {
  return kPageBytes;
}
constexpr io_u64 places_offset(io_u32 places) {
  return owners_offset() + round_to_page(places * sizeof(io_u64));
}
constexpr io_u64 rings_offset(io_u32 places) {
  return places_offset(places) + round_to_page(places * sizeof(Place));
}
constexpr io_u32 cells_of(io_u32 slots) {
  return slots / kTextShare * io_u32{sizeof(RawRecord)} / kCellBytes;
}
constexpr io_u64 ring_stride(io_u32 slots) {
  return round_to_page(slots * sizeof(RawRecord)) +
         round_to_page(io_u64{cells_of(slots)} * kCellBytes);
}
constexpr io_u64 text_offset(io_u32 slots) {
  return round_to_page(slots * sizeof(RawRecord));
}

} // namespace iotrail::capture::preload
