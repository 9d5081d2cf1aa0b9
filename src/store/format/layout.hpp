// SPDX-License-Identifier: BSD-3-Clause
//
// The fixed parts of a segment file, byte for byte as docs/format.md gives them, and their checksums.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace iotrail::store {

static_assert(std::endian::native == std::endian::little, "segments are little endian");

using TraceId = std::array<std::uint8_t, 16>;

inline constexpr std::uint64_t kSegmentMagic = 0x0a0d4c4941525449; // "ITRAIL\r\n"
inline constexpr std::uint32_t kBlockMagic = 0x4b4c4249;           // "IBLK"
inline constexpr std::uint32_t kBlockRowsMax = 16384;              // of any block
inline constexpr std::uint32_t kPayloadBytesMax = 64U << 20U;      // of any block
inline constexpr std::uint32_t kColumnBytesMax = 32U << 20U;       // of any column, decompressed
inline constexpr std::size_t kTextBytesMax = 64U << 10U; // of one text; longer ones are cut

// A block that is read takes what its columns take after decompression, and so much for each of their values. Together
// that is limited: compressed and constant columns are a thousand times smaller than what they stand for.
inline constexpr std::size_t kNumberBytes = 8;
inline constexpr std::size_t kTextBytesBeside = 32; // of a text, beside its own
inline constexpr std::size_t kBlockBytesMax = 32U << 20U;

enum class SegmentKind : std::uint32_t { events = 1, dictionary = 2 };

struct SegmentHeader {
  std::uint64_t magic = kSegmentMagic;
  std::uint32_t format_version = 0;
  SegmentKind kind = SegmentKind::events;
  TraceId trace_id{};
  std::uint32_t number = 0;   // 0: the dictionary; events count from 1
  std::uint32_t reserved = 0; // 0
  std::uint64_t checksum = 0; // of the bytes before it
};
static_assert(sizeof(SegmentHeader) == 48);

struct BlockHeader {
  std::uint32_t magic = kBlockMagic;
  std::uint16_t kind = 0;
  std::uint16_t columns = 0;
  std::uint32_t rows = 0;
  std::uint32_t payload_bytes = 0;
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t rows_before =
      0; // in this segment: two good headers tell how many rows lie between them
  std::uint32_t sequence = 0; // of the block in this segment, from 0
  std::uint32_t reserved = 0; // 0
  std::uint64_t payload_checksum = 0;
  std::uint64_t checksum = 0; // of the bytes before it
};
static_assert(sizeof(BlockHeader) == 64);

// Checksums of blocks are seeded with the trace's id, so that a block of another trace (left over in a file system's
// free space, or stored as data inside a block) is never taken for one of this trace.
std::uint64_t block_seed(const TraceId& trace_id);
std::uint64_t payload_checksum(ByteSpan payload, std::uint64_t seed);

void seal(SegmentHeader& header);
bool is_sealed(const SegmentHeader& header); // magic and checksum fit
void seal(BlockHeader& header, std::uint64_t seed);
bool is_sealed(const BlockHeader& header, std::uint64_t seed); // and its sizes are within limits

std::string segment_name(SegmentKind kind,
                         std::uint32_t number); // "events-0001.seg", "dictionary.seg"

// The number in such a name, 0 of the dictionary; nullopt: not the name of a segment.
std::optional<std::uint32_t> segment_number(std::string_view name);
inline SegmentKind segment_kind(std::uint32_t number) {
  return number == 0 ? SegmentKind::dictionary : SegmentKind::events;
}

TraceId new_trace_id();
std::string to_hex(const TraceId& trace_id);
std::optional<TraceId> trace_id_from_hex(std::string_view text);

} // namespace iotrail::store
