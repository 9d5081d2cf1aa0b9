// SPDX-License-Identifier: BSD-3-Clause
//
// Where the blocks of one segment lie, by their headers alone. It trusts nothing: a header counts only if its checksum
// fits, and the segment may get shorter meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "store/format/layout.hpp"

namespace iotrail::store {

struct IndexedBlock {
  BlockHeader header;
  std::uint64_t offset = 0; // of the header, in the segment
};

struct SegmentIndex {
  std::vector<IndexedBlock> blocks;
  // Bytes between and after the valid blocks. The headers around a gap say how many rows and blocks
  // are missing, as far as they are readable.
  std::uint64_t bytes_skipped = 0;
  std::uint64_t blocks_skipped = 0;
  std::uint64_t rows_skipped = 0;
};

// nullopt: too short, or not the header of a segment.
std::optional<SegmentHeader> read_segment_header(ByteSpan segment);

// Fills a piece of memory with the bytes of the segment from an offset on, and returns how many there are.
using ReadBytes = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> into)>;

// After bytes that are not a block, the search continues at the next valid block header. A segment
// with a damaged header of its own can be indexed too: the trace's id seeds the checksums of its
// blocks.
SegmentIndex index_segment(const ReadBytes& read, std::uint64_t size, const TraceId& trace_id);
SegmentIndex index_segment(ByteSpan segment, const TraceId& trace_id); // one that is in memory

// The payload of an indexed block of a segment that is in memory.
ByteSpan payload_of(ByteSpan segment, const IndexedBlock& block);

} // namespace iotrail::store
