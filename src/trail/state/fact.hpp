// SPDX-License-Identifier: BSD-3-Clause
//
// An event of a trace, as far as the engine needs it.
#pragma once

#include <cstdint>

#include "abi.h"

namespace iotrail::trail {

inline constexpr std::uint64_t kNoOffset = UINT64_MAX;
// Beyond any file and device: no place in a Fact is farther, and no length longer, so that sums do not wrap.
inline constexpr std::uint64_t kFarthest = 1ULL << 62U;
inline constexpr std::uint64_t kPageBytes = 1ULL << IOT_PAGE_SHIFT; // cache.def counts in these

// The begin of the page that a place lies in, and the first begin of a page that is not before it.
constexpr std::uint64_t page_begin(std::uint64_t place) {
  return place - place % kPageBytes;
}
constexpr std::uint64_t page_after(std::uint64_t place) {
  return page_begin(place + kPageBytes - 1);
}

enum class FactKind : std::uint8_t {
  read,      // a call that reads `bytes` of a file from `offset` on
  write,     // a call that wrote them
  copy,      // a call that wrote to the file, not known where
  truncated, // the file ends at `offset`
  punched,   // `bytes` from `offset` on are a hole, or zeroes
  mapped,    // the file was mapped so that stores reach it
  dirtied,   // pages that were clean and are dirty
  evicted,   // pages that are no longer in the cache
  flushed,   // `pid` begins to write the file's pages back, set off by `flags`
  queued,    // a bio
  inserted,  // a request, into a scheduler's queue
  completed, // a request, or a part of it; ts_ns: when it was issued
  failed,    // a bio that no request carries
};

struct Fact {
  FactKind kind = FactKind::read;
  std::uint64_t ts_ns = 0; // of a span: when it began
  std::uint64_t duration_ns = 0;
  std::uint64_t op_id = 0;
  std::uint64_t pid = 0;
  std::uint64_t file = 0;
  std::uint64_t offset = kNoOffset; // kNoOffset: not known, or not of a file's pages
  std::uint64_t bytes = 0;          // of calls: asked for
  std::uint64_t result = 0;         // two's complement: bytes moved, or a negative errno
  std::uint64_t device = 0;
  std::uint64_t sector = 0;
  std::uint64_t flags = 0;
  std::uint64_t call = 0;
  std::uint64_t is_contiguous = 1;
  std::uint64_t io_class = 0; // of a bio, as schema/values.def numbers it; 0: not told
  std::uint64_t above = 0; // of a bio: the mapped disk that hands it on, whose bio is in the trace
  std::uint64_t queue_ns =
      0; // of a request: from when its first bio was queued to when it was issued; 0: not known

  std::uint64_t end_ns() const { return ts_ns + duration_ns; }
  // Of a bio or a request, as schema/values.def numbers them: the lowest bits of its flags.
  std::uint8_t operation() const { return static_cast<std::uint8_t>(flags & IOT_CHOICE_block); }
  // Bytes that a call moved.
  std::uint64_t moved() const { return static_cast<std::int64_t>(result) > 0 ? result : 0; }
};

// Whether a bio of such flags and class is of metadata: it is so marked, or in the disk's own cache without a mark, as the blocks
// of ext4 that say where a file's extents are. Programs have data there by the disk's node alone: `is_of_node`.
inline bool is_metadata(std::uint64_t flags, std::uint64_t io_class, bool is_of_node) {
  return (flags & IOT_block_hint_meta) != 0 || (io_class == IOT_io_class_device && !is_of_node);
}

} // namespace iotrail::trail
