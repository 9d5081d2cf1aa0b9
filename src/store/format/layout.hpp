// SPDX-License-Identifier: BSD-3-Clause
//
// The fixed parts of a segment file and their checksums, byte for byte as in docs/format.md.
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
inline constexpr std::uint32_t kBlockRowsMax = 16384;              // per block
inline constexpr std::uint32_t kPayloadBytesMax = 64U << 20U;      // per block
inline constexpr std::uint32_t kColumnBytesMax = 32U << 20U;       // per column, decompressed
inline constexpr std::size_t kTextBytesMax = 64U << 10U;           // per text; longer ones are cut

// Memory that a decoded block takes: its decompressed columns, and this much for each value. The
// sum is limited, since compressed and constant columns are a thousand times smaller than their
// values.
inline constexpr std::size_t kNumberBytes = 8;
inline constexpr std::size_t kTextBytesBeside = 32; // per text, in addition to its own
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
  std::uint32_t sequence = 0; // number of the block in this segment, from 0
  std::uint32_t reserved = 0; // 0
  std::uint64_t payload_checksum = 0;
  std::uint64_t checksum = 0; // of the bytes before it
};
static_assert(sizeof(BlockHeader) == 64);

// The trace's id seeds the checksums of blocks. A block of another trace (left in free space of the
// file system, or stored as data in a block) therefore never passes for one of this trace.
std::uint64_t block_seed(const TraceId& trace_id);
std::uint64_t payload_checksum(ByteSpan payload, std::uint64_t seed);

void seal(SegmentHeader& header);
bool is_sealed(const SegmentHeader& header); // are magic and checksum right?
void seal(BlockHeader& header, std::uint64_t seed);
bool is_sealed(const BlockHeader& header, std::uint64_t seed); // and are its sizes within limits?

std::string segment_name(SegmentKind kind,
                         std::uint32_t number); // "events-0001.seg", "dictionary.seg"

// The number in such a name, 0 for the dictionary; nullopt: not the name of a segment.
std::optional<std::uint32_t> segment_number(std::string_view name);
inline SegmentKind segment_kind(std::uint32_t number) {
  return number == 0 ? SegmentKind::dictionary : SegmentKind::events;
}

TraceId new_trace_id();
std::string to_hex(const TraceId& trace_id);
std::optional<TraceId> trace_id_from_hex(std::string_view text);

} // namespace iotrail::store
