// SPDX-License-Identifier: BSD-3-Clause
//
// Where the blocks of one segment lie, by their headers alone. Fed from a disk, it trusts nothing: it never reads past
// the bytes it is given, and a header counts only if its checksum fits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "store/format/layout.hpp"

namespace iotrail::store {

struct IndexedBlock {
  BlockHeader header;
  std::uint64_t offset = 0; // of the header in the segment
};

struct SegmentIndex {
  std::vector<IndexedBlock> blocks;
  // Between and after the good blocks; rows and blocks as far as the headers around the gap tell.
  std::uint64_t bytes_skipped = 0;
  std::uint64_t blocks_skipped = 0;
  std::uint64_t rows_skipped = 0;
};

// nullopt: too short, or not the header of a segment.
std::optional<SegmentHeader> read_segment_header(ByteSpan segment);

// After a piece that is not a block, the search goes on at the next place where a block's header fits. A segment whose
// own header is damaged can be indexed too: its blocks carry the trace's checksum seed.
SegmentIndex index_segment(ByteSpan segment, const TraceId& trace_id);

// The payload of an indexed block.
ByteSpan payload_of(ByteSpan segment, const IndexedBlock& block);

} // namespace iotrail::store
