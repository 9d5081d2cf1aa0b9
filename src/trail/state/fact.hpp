// SPDX-License-Identifier: BSD-3-Clause
//
// The part of a trace's event that the engine needs.
#pragma once

#include <cstdint>

#include "abi.h"

namespace iotrail::trail {

inline constexpr std::uint64_t kNoOffset = UINT64_MAX;
// Beyond any file and device: limits each position and length in a Fact, so that sums do not wrap.
inline constexpr std::uint64_t kFarthest = 1ULL << 62U;
inline constexpr std::uint64_t kPageBytes = 1ULL << IOT_PAGE_SHIFT; // the unit of cache.def

// The begin of the page with that position, and the first page begin that is not before it.
constexpr std::uint64_t page_begin(std::uint64_t place) {
  return place - place % kPageBytes;
}
constexpr std::uint64_t page_after(std::uint64_t place) {
  return page_begin(place + kPageBytes - 1);
}

enum class FactKind : std::uint8_t {
  read,      // a call that reads `bytes` of a file from `offset` on
  write,     // a call that wrote them
  copy,      // a call that wrote bytes of another file, or shares them on the device
  truncated, // the file ends at `offset`
  punched,   // `bytes` from `offset` on became a hole, or zeroes
  mapped,    // the file was mapped so that stores reach it
  added,     // pages that came into the cache; only if the trace has bios without their range
  dirtied,   // clean pages that became dirty
  evicted,   // pages that left the cache
  joined,    // an operation changed `bytes` blocks in the journal's transaction `sector`
  committed, // `pid` commits that transaction in `bytes` blocks; `call` operations changed it
  emptied,   // an operation writes older transactions home, for room in the journal
  flushed,   // `pid` begins to write the file's pages back, triggered by `flags`
  queued,    // a bio
  inserted,  // a request, into a scheduler's queue
  synced,    // a call that had all dirty bytes of a file written, or of all files
  completed, // a request, or a part of it; ts_ns: its issue
  failed,    // a bio without a request
};

struct Fact {
  FactKind kind = FactKind::read;
  std::uint64_t ts_ns = 0; // of a span: its begin
  std::uint64_t duration_ns = 0;
  std::uint64_t op_id = 0;
  std::uint64_t pid = 0;
  std::uint64_t file = 0;
  std::uint64_t offset = kNoOffset; // kNoOffset: unknown, or no pages of a file
  std::uint64_t bytes = 0;          // for calls: the bytes asked for
  std::uint64_t result = 0;         // two's complement: bytes moved, or a negative errno
  std::uint64_t device = 0;
  std::uint64_t sector = 0;
  std::uint64_t flags = 0;
  std::uint64_t call = 0;
  std::uint64_t is_contiguous = 1;
  std::uint64_t io_class = 0; // of a bio, as numbered in schema/values.def; 0: unknown
  std::uint64_t above =
      0; // of a bio: the mapped disk that submitted it, if that disk's bio is in the trace
  // Of a compressed bio: the length of its range of the file. Without `offset`: of a unit that the
  // file system compresses; 0: unknown. Of others 0.
  std::uint64_t range_bytes = 0;
  std::uint64_t file_bytes = UINT64_MAX; // of a bio: the size of its file; beyond any: unknown
  std::uint64_t queue_ns =
      0; // of a request: from the queueing of its first bio to its issue; 0: unknown

  std::uint64_t end_ns() const { return ts_ns + duration_ns; }
  // Operation of a bio or a request, as numbered in schema/values.def: the lowest bits of its
  // flags.
  std::uint8_t operation() const { return static_cast<std::uint8_t>(flags & IOT_CHOICE_block); }
  // Bytes that a call moved.
  std::uint64_t moved() const { return static_cast<std::int64_t>(result) > 0 ? result : 0; }
};

// Whether a bio with these flags and class is metadata. It is marked so, or is of a journal (jbd2 of
// Linux 6.1 does not mark its bios), or unmarked in the disk's own cache, such as ext4's blocks with
// the extents of a file. Programs have data there only through the device node: `is_of_node`.
inline bool is_metadata(std::uint64_t flags, std::uint64_t io_class, bool is_of_node) {
  return (flags & IOT_block_hint_meta) != 0 || io_class == IOT_io_class_journal ||
         (io_class == IOT_io_class_device && !is_of_node);
}

} // namespace iotrail::trail
