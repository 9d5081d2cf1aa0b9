// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes whole segment files through the path of the reader: index, checksums, decoder. Random
// bytes never have a good checksum, so the input is also used as a list of edits to a good segment.
#include <array>
#include <cstdint>
#include <numeric>

#include "store/format/block.hpp"
#include "store/reader/segment_index.hpp"

using namespace iotrail;
using namespace iotrail::store;

namespace {

constexpr int kBlocks = 4;
constexpr std::size_t kRows = 100;

std::vector<std::byte> good_segment() {
  ByteWriter out;
  SegmentHeader header;
  header.format_version = 1;
  header.number = 1;
  seal(header);
  out.write(header);
  BlockEncoder encoder({}, 1);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    BlockRows rows{0x0402, {Numbers(kRows), Numbers(kRows), Texts(kRows, "text")}, 1, 2};
    for (std::uint64_t i = 0; i < kRows; ++i) {
      std::get<Numbers>(rows.columns[0])[i] = i * i;
      std::get<Numbers>(rows.columns[1])[i] = i % 3 + block;
    }
    out.append(encoder.encode(rows, block, block * kRows));
  }
  return {out.bytes().begin(), out.bytes().end()};
}

struct Edit {
  std::uint16_t position;
  std::uint8_t action; // 0: change a byte, 1: cut out, 2: insert; above: end
  std::uint8_t value;
};

std::vector<std::byte> edited(ByteSpan edits) {
  static const std::vector<std::byte> kGood = good_segment();
  std::vector<std::byte> segment = kGood;
  ByteReader in(edits);
  while (in.remaining() >= sizeof(Edit) && !segment.empty()) {
    const auto edit = in.read<Edit>();
    const auto at = segment.begin() + static_cast<std::ptrdiff_t>(edit.position % segment.size());
    if (edit.action % 4 == 0)
      *at = static_cast<std::byte>(edit.value);
    else if (edit.action % 4 == 1)
      segment.erase(at, at + std::min<std::ptrdiff_t>(edit.value, segment.end() - at));
    else if (edit.action % 4 == 2)
      segment.insert(at, edit.value, std::byte{0x49});
    else
      segment.erase(at, segment.end());
  }
  return segment;
}

void read_all(ByteSpan segment) {
  (void)read_segment_header(segment);
  const SegmentIndex index = index_segment(segment, {});
  std::uint64_t bytes = index.bytes_skipped + std::min(sizeof(SegmentHeader), segment.size());
  constexpr std::array kTypes = {schema::Type::u64, schema::Type::u64, schema::Type::text};
  constexpr std::array kPositions = {0, 1, 2};
  for (const IndexedBlock& block : index.blocks) {
    const ByteSpan payload = payload_of(segment, block);
    bytes += sizeof(BlockHeader) + payload.size();
    if (payload_checksum(payload, block_seed({})) == block.header.payload_checksum)
      IOTRAIL_CHECK(decode_block(block.header, payload, kPositions, kTypes).has_value());
  }
  IOTRAIL_CHECK(bytes == segment.size()); // each byte is either in a block or counted as skipped
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan input = std::as_bytes(std::span(data, size));
  read_all(input);
  read_all(edited(input));
  return 0;
}
