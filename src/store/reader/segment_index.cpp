// SPDX-License-Identifier: BSD-3-Clause
#include "store/reader/segment_index.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace iotrail::store {
namespace {

constexpr std::size_t kStepBytes = 4096; // read for a header where one is expected
constexpr std::size_t kSearchBytes = 1U << 20U;

// Reads the segment from any offset; keeps one piece of it in memory.
class Window {
public:
  Window(const ReadBytes& read, std::uint64_t size) : read_(read), size_(size) {}

  // Where the segment ends: less than at first once a read has found it shorter.
  std::uint64_t size() const { return size_; }

  // From `offset` on at least a block's header, except at the end.
  ByteSpan from(std::uint64_t offset, std::size_t fill_bytes) {
    const bool is_inside = offset >= begin_ && offset <= begin_ + held_;
    const std::uint64_t rest = is_inside ? begin_ + held_ - offset : 0;
    if (rest < sizeof(BlockHeader) && offset + rest < size_)
      fill(offset, fill_bytes);
    return ByteSpan(bytes_).first(held_).subspan(static_cast<std::size_t>(offset - begin_));
  }

private:
  void fill(std::uint64_t offset, std::size_t fill_bytes) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(fill_bytes, size_ - offset));
    bytes_.resize(std::max(bytes_.size(), wanted));
    begin_ = offset;
    held_ = read_(offset, std::span(bytes_).first(wanted));
    if (held_ < wanted)
      size_ = offset + held_;
  }

  const ReadBytes& read_;
  std::uint64_t size_;
  std::uint64_t begin_ = 0; // of the piece
  std::size_t held_ = 0;
  std::vector<std::byte> bytes_;
};

class Indexer {
public:
  Indexer(const ReadBytes& read, std::uint64_t size, const TraceId& trace_id)
      : window_(read, size), size_at_begin_(size), seed_(block_seed(trace_id)) {}

  SegmentIndex run() {
    std::uint64_t at = std::min<std::uint64_t>(sizeof(SegmentHeader), window_.size());
    while (at < window_.size()) {
      const BlockHeader header = header_at(at);
      // Of a block that is there twice, the first one counts.
      if (!is_sealed(header, seed_) || header.sequence < blocks_seen_) {
        const std::uint64_t next = find_header(at + 1);
        index_.bytes_skipped += next - at;
        is_torn_ = true;
        at = next;
        continue;
      }
      count_gap(header);
      if (header.payload_bytes > window_.size() - at - sizeof header) {
        at = skip_torn_block(header, at);
        continue;
      }
      index_.blocks.push_back({header, at});
      at += sizeof header + header.payload_bytes;
    }
    count_end(at);
    return std::move(index_);
  }

private:
  // A valid header says how many blocks and rows precede it.
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
  std::uint64_t skip_torn_block(const BlockHeader& header, std::uint64_t at) {
    ++index_.blocks_skipped;
    index_.rows_skipped += header.rows;
    const std::uint64_t next = find_header(at + sizeof header);
    index_.bytes_skipped += next - at;
    return next;
  }

  // `at` is where the last piece ends, which may have been there before the segment became shorter.
  void count_end(std::uint64_t at) {
    if (at < size_at_begin_) {
      index_.bytes_skipped += size_at_begin_ - at;
      is_torn_ = true;
    }
    // The end is missing, and nothing after it tells how much: one block, of rows unknown.
    if (is_torn_)
      ++index_.blocks_skipped;
  }

  BlockHeader header_at(std::uint64_t offset) {
    return ByteReader(window_.from(offset, kStepBytes))
        .read<BlockHeader>(); // too short: zeros, which no checksum fits
  }

  // The next header that fits at or after `from`; the segment's size: none.
  std::uint64_t find_header(std::uint64_t from) {
    constexpr std::uint32_t kMagic = kBlockMagic;
    std::array<std::byte, sizeof kMagic> magic{};
    std::memcpy(magic.data(), &kMagic, sizeof kMagic);
    while (from < window_.size()) {
      const ByteSpan piece = window_.from(from, kSearchBytes);
      const auto found = std::ranges::search(piece, magic).begin();
      from += static_cast<std::uint64_t>(found - piece.begin());
      if (found == piece.end()) // the magic may begin in this piece and end in the next
        from = from < window_.size() ? from - (magic.size() - 1) : from;
      else if (is_sealed(header_at(from), seed_))
        return from;
      else
        ++from;
    }
    return window_.size();
  }

  Window window_;
  std::uint64_t size_at_begin_;
  std::uint64_t seed_;
  SegmentIndex index_;
  std::uint64_t blocks_seen_ = 0;
  std::uint64_t rows_seen_ = 0;
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

SegmentIndex index_segment(const ReadBytes& read, std::uint64_t size, const TraceId& trace_id) {
  return Indexer(read, size, trace_id).run();
}

SegmentIndex index_segment(ByteSpan segment, const TraceId& trace_id) {
  const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
    std::ranges::copy(segment.subspan(static_cast<std::size_t>(offset), into.size()), into.begin());
    return into.size();
  };
  return index_segment(read, segment.size(), trace_id);
}

ByteSpan payload_of(ByteSpan segment, const IndexedBlock& block) {
  return segment.subspan(block.offset + sizeof(BlockHeader), block.header.payload_bytes);
}

} // namespace iotrail::store
