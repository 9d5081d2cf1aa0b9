// SPDX-License-Identifier: BSD-3-Clause
//
// The arena: the shared memory region of the preload library and the collector. It is one file,
// made and owned by the collector, and mapped by every traced process. It contains only structures
// of fixed layout; both sides are built from this header.
//
//   header | owners[places] | ThreadSlot[places] | per place: record ring, text ring
//
// A traced program may write anything to it, by mistake or on purpose. Each side keeps its state in
// private copies: the library so that its host survives, the collector so that its counts stay
// right.
//
// A place is the slot of one thread at a time. Its positions never restart, so (place, position)
// identifies a call forever. A process maps only the rings of places that its threads have or had.
// All rings would take 20 GB of its address space; a limit (`ulimit -v`) may allow less.
//
// Records: the protocol of schema/ring.h. A reservation is a compare-and-exchange with a lock
// prefix, because signal handlers and children that share memory write to the same ring. Text:
// messages of whole cells, reserved in the same way. The first word of a message is its commit
// mark. The collector zeroes the cells after reading, so that old text never looks like a mark. A
// record that uses a message is committed after it.
#pragma once

#include "ring.h"

namespace iotrail::capture::preload {

inline constexpr char kArenaVariable[] = "IOTRAIL_PRELOAD_ARENA"; // path of the arena's file
// The same, in an environment that a program had emptied. The next program does not see it.
inline constexpr char kAddedArenaVariable[] = "IOTRAIL_PRELOAD_ARENA_ADDED";
inline constexpr iot_u64 kArenaMagic = 0x31616e6572416f69ULL;
inline constexpr iot_u32 kCallLimit = 1024; // numbers of calls are below it
inline constexpr iot_u32 kArenaVersion = 6;
inline constexpr iot_u32 kPlaces = 4096;        // threads followed at the same time
inline constexpr iot_u32 kDefaultSlots = 65536; // records of one ring
inline constexpr iot_u32 kPageBytes = 4096;
inline constexpr iot_u32 kTextShare = 4;         // the text ring has 1/4 of the record ring's bytes
inline constexpr iot_u32 kFileLimit = 1U << 26U; // file numbers of one recording
inline constexpr iot_u32 kPathBytes = 4096;      // longest path kept, as in PATH_MAX
inline constexpr iot_u32 kCommandBytes = 4096;   // longest command line kept

enum class ArenaState : iot_u32 { open = 1, closed = 2 };
enum class ClockKind : iot_u32 { monotonic = 0, tsc = 1 };

// One call. record_layout.hpp defines `fields` for each event.
struct RawRecord {
  iot_u32 tag; // commit mark, written last: low half of the position, plus 1
  iot_u16 call;
  short error;   // of events with a field for it
  iot_u64 begin; // in ticks of the arena's clock
  iot_u64 end;
  unsigned char fields[40];
};
static_assert(sizeof(RawRecord) == IOT_CACHE_LINE);

enum class TextKind : iot_u16 { path = 1, file = 2, process = 3, preload_blocker = 4 };

// Why a program runs without the library.
enum class PreloadBlocker : iot_u32 {
  none,
  is_static,
  other_class,      // 32-bit
  other_linker,     // of another C library
  changes_identity, // set-user-ID, set-group-ID, capabilities
  other_runtime,    // AddressSanitizer's, which does not start behind another library
  unreachable,      // the library or the arena cannot be reached, as after chroot
  other_recording,  // a recording inside this one uses it
};

inline constexpr iot_u32 kCellBytes = 64;

// Header of a message; `bytes` of text follow.
struct TextHeader {
  iot_u32 mark; // 1: committed
  iot_u16 kind;
  iot_u16 cells; // of the whole message
  iot_u32 bytes;
  iot_u32 number;     // file: its number in the arena; process, blocker: pid
  iot_u32 device;     // file: major << 20 | minor; process: parent's pid
  iot_u32 generation; // file
  iot_u32 mode;       // file: its mode; blocker: its kind
  iot_u32 unused;
  iot_u64 inode; // file: inode; process: time of attaching, in ticks, 0: no clock
};
static_assert(sizeof(TextHeader) == 40);
inline constexpr iot_u32 kTextCellsMax =
    (sizeof(TextHeader) + 2UL * kPathBytes + kCommandBytes + kCellBytes) / kCellBytes;

// An owner: 0, or the ids of the thread in the place, in its own pid namespace: pid << 32 | tid.
inline constexpr iot_u64 kOwnerReleased =
    1ULL << 63U; // the thread has ended; the collector frees the place
constexpr iot_u64 owner_of(iot_s32 pid, iot_s32 tid) {
  return static_cast<iot_u64>(pid) << 32U | static_cast<iot_u32>(tid);
}

constexpr iot_u32 pid_of(iot_u64 owner) {
  return static_cast<iot_u32>(owner >> 32U) & 0x7fffffffU;
}
constexpr iot_u32 tid_of(iot_u64 owner) {
  return static_cast<iot_u32>(owner) & 0x7fffffffU;
}

struct ThreadSlot {
  iot_ring_control records;
  iot_u64 text_head;     // in cells
  iot_u64 claim;         // number of this claim in the arena; 0: not yet set
  iot_u64 pid_namespace; // inode of the owner's; 0: unknown
  iot_u32 ready_slots;   // slots with memory behind them; grows up to all
  iot_u32 ready_cells;
  iot_u64 produced;    // calls to record, counted before the ring is checked
  iot_u64 outer_owner; // the owner in the collector's /proc; 0: unknown to its program
  iot_u64 pad[2];
  iot_u64 text_tail; // written by the collector, on a line of its own
  iot_u64 pad_tail[7];
};
static_assert(sizeof(ThreadSlot) == sizeof(iot_ring_control) + 2UL * IOT_CACHE_LINE);
static_assert(sizeof(iot_ring_control) % IOT_CACHE_LINE == 0);

// The calls that programs record. A bit is the number of an app event in its layer, or the number
// of a call.
struct WantedCalls {
  iot_u64 events = 0;
  iot_u64 mixed_events = 0; // recorded events with some excluded calls
  iot_u64 left_out[kCallLimit / 64] = {};
};

struct ArenaHeader {
  iot_u64 magic;
  iot_u32 version;
  iot_u32 state; // ArenaState
  iot_u32 clock; // ClockKind
  iot_u32 places;
  iot_u32 slots; // of a record ring; a power of two
  iot_u32 cells; // of a text ring; a power of two
  iot_u64 rings_offset;
  iot_u64 ring_stride;   // bytes of one place's rings
  iot_u64 pid_namespace; // inode of the collector's
  iot_u64 proc_device;   // of the collector's /proc
  WantedCalls wanted;
  alignas(IOT_CACHE_LINE) iot_u64 next_claim;
  iot_u32 next_file;
  iot_u32 used_places;  // all claimed places are below it
  iot_u64 no_ring;      // calls lost because no place was free
  iot_u64 no_clock;     // calls lost because the program may not read the clock
  iot_u64 text_full;    // messages dropped
  iot_u64 not_followed; // executed programs that cannot be preloaded into
};
static_assert(sizeof(ArenaHeader) <= kPageBytes);

constexpr iot_u64 round_to_page(iot_u64 bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}
constexpr iot_u64 owners_offset() {
  return kPageBytes;
}
constexpr iot_u64 places_offset(iot_u32 places) {
  return owners_offset() + round_to_page(places * sizeof(iot_u64));
}
constexpr iot_u64 rings_offset(iot_u32 places) {
  return places_offset(places) + round_to_page(places * sizeof(ThreadSlot));
}
constexpr iot_u32 cells_of(iot_u32 slots) {
  return slots / kTextShare * iot_u32{sizeof(RawRecord)} / kCellBytes;
}
constexpr iot_u64 ring_stride(iot_u32 slots) {
  return round_to_page(slots * sizeof(RawRecord)) +
         round_to_page(iot_u64{cells_of(slots)} * kCellBytes);
}
constexpr iot_u64 text_offset(iot_u32 slots) {
  return round_to_page(slots * sizeof(RawRecord));
}
constexpr iot_u64 arena_bytes(iot_u32 slots) {
  return rings_offset(kPlaces) + kPlaces * ring_stride(slots);
}

} // namespace iotrail::capture::preload
