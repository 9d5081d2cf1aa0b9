// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes the decoder of one block with bytes that no checksum protects. It may refuse them and must
// never read out of bounds. What it accepts must survive encoding and decoding unchanged.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "store/format/block.hpp"

using namespace iotrail;
using namespace iotrail::store;

namespace {

// The first bytes of the input: how many rows, and which columns are text.
struct Shape {
  std::uint16_t rows;
  std::uint8_t columns;
  std::uint8_t text_columns; // one bit a column
};

std::vector<Column> decode(const BlockHeader& header, ByteSpan payload,
                           std::span<const schema::Type> types) {
  std::vector<int> positions(types.size());
  std::iota(positions.begin(), positions.end(), 0);
  auto columns = decode_block(header, payload, positions, types);
  return columns ? std::move(*columns) : std::vector<Column>();
}

void check_round_trip(BlockEncoder& encoder, const BlockRows& rows,
                      std::span<const schema::Type> types) {
  const ByteSpan block = encoder.encode(rows, 0, 0);
  ByteReader in(block);
  const auto header = in.read<BlockHeader>();
  IOTRAIL_CHECK(is_sealed(header, block_seed({})));
  IOTRAIL_CHECK(decode(header, in.take(in.remaining()), types) == rows.columns);
}

// Replaces the values, so that the plans meet values that they were not made for.
void turn_round(BlockRows& rows) {
  for (Column& column : rows.columns)
    if (auto* numbers = std::get_if<Numbers>(&column)) {
      std::ranges::reverse(*numbers);
      numbers->front() -= 1000;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteReader in(std::as_bytes(std::span(data, size)));
  const auto shape = in.read<Shape>();
  BlockHeader header;
  header.rows = shape.rows % (kBlockRowsMax + 1);
  header.columns = shape.columns % 8 + 1;
  std::vector<schema::Type> types;
  for (int i = 0; i < header.columns; ++i)
    types.push_back((shape.text_columns >> i & 1) != 0 ? schema::Type::text : schema::Type::u64);
  BlockRows rows;
  rows.columns = decode(header, in.take(in.remaining()), types);
  if (header.rows > 0 && !rows.columns.empty()) {
    BlockEncoder encoder({}, 1);
    check_round_trip(encoder, rows, types);
    turn_round(rows);
    check_round_trip(encoder, rows, types);
  }
  return 0;
}
