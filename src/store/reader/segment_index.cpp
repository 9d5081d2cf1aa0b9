// SPDX-License-Identifier: BSD-3-Clause
#include "store/reader/segment_index.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace iotrail::store {
namespace {

BlockHeader header_at(ByteSpan segment, std::size_t offset) {
  return ByteReader(segment.subspan(offset))
      .read<BlockHeader>(); // too short: zeros, which no checksum fits
}

// The next header that fits at or after `from`; the segment's size: none.
std::size_t find_header(ByteSpan segment, std::size_t from, std::uint64_t seed) {
  constexpr std::uint32_t kMagic = kBlockMagic;
  std::array<std::byte, sizeof kMagic> magic{};
  std::memcpy(magic.data(), &kMagic, sizeof kMagic);
  auto at = segment.begin() + static_cast<std::ptrdiff_t>(from);
  while (true) {
    at = std::search(at, segment.end(), magic.begin(), magic.end());
    const auto offset = static_cast<std::size_t>(at - segment.begin());
    if (at == segment.end() || is_sealed(header_at(segment, offset), seed))
      return offset;
    ++at;
  }
}

class Indexer {
public:
  Indexer(ByteSpan segment, const TraceId& trace_id)
      : segment_(segment), seed_(block_seed(trace_id)) {}

  SegmentIndex run() {
    std::size_t at = std::min(sizeof(SegmentHeader), segment_.size());
    while (at < segment_.size()) {
      const BlockHeader header = header_at(segment_, at);
      // Of a block that is there twice, the first one counts.
      if (!is_sealed(header, seed_) || header.sequence < blocks_seen_) {
        const std::size_t next = find_header(segment_, at + 1, seed_);
        index_.bytes_skipped += next - at;
        is_torn_ = true;
        at = next;
        continue;
      }
      count_gap(header);
      if (header.payload_bytes > segment_.size() - at - sizeof header) {
        skip_torn_block(header, at);
        at = next_after_torn_;
        continue;
      }
      index_.blocks.push_back({header, at});
      at += sizeof header + header.payload_bytes;
    }
    // The end is missing, and nothing after it tells how much: one block, of rows unknown.
    if (is_torn_)
      ++index_.blocks_skipped;
    return std::move(index_);
  }

private:
  // A good header says how many blocks and rows come before it.
  void count_gap(const BlockHeader& header) {
    if (header.sequence > blocks_seen_)
      index_.blocks_skipped += header.sequence - blocks_seen_;
    if (header.rows_before > rows_seen_)
      index_.rows_skipped += header.rows_before - rows_seen_;
    blocks_seen_ = header.sequence + std::uint64_t{1};
    rows_seen_ = header.rows_before + header.rows;
    is_torn_ = false;
  }

  // The header is good but its payload is cut short: by the end of the file, or by a piece that is missing.
  void skip_torn_block(const BlockHeader& header, std::size_t at) {
    ++index_.blocks_skipped;
    index_.rows_skipped += header.rows;
    next_after_torn_ = find_header(segment_, at + sizeof header, seed_);
    index_.bytes_skipped += next_after_torn_ - at;
  }

  ByteSpan segment_;
  std::uint64_t seed_;
  SegmentIndex index_;
  std::uint64_t blocks_seen_ = 0;
  std::uint64_t rows_seen_ = 0;
  std::size_t next_after_torn_ = 0;
  bool is_torn_ = false; // the last piece looked at was no block
};

} // namespace

std::optional<SegmentHeader> read_segment_header(ByteSpan segment) {
  ByteReader in(segment);
  const auto header = in.read<SegmentHeader>();
  if (!in.ok() || !is_sealed(header))
    return std::nullopt;
  return header;
}

SegmentIndex index_segment(ByteSpan segment, const TraceId& trace_id) {
  return Indexer(segment, trace_id).run();
}

ByteSpan payload_of(ByteSpan segment, const IndexedBlock& block) {
  return segment.subspan(block.offset + sizeof(BlockHeader), block.header.payload_bytes);
}

} // namespace iotrail::store
