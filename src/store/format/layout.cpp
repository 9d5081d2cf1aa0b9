// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/layout.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/clock.hpp"

namespace iotrail::store {
namespace {

template <class Header> std::uint64_t header_checksum(const Header& header, std::uint64_t seed) {
  return XXH3_64bits_withSeed(&header, offsetof(Header, checksum), seed);
}

} // namespace

std::uint64_t block_seed(const TraceId& trace_id) {
  std::uint64_t seed = 0;
  std::memcpy(&seed, trace_id.data(), sizeof seed);
  return seed;
}

std::uint64_t payload_checksum(ByteSpan payload, std::uint64_t seed) {
  return XXH3_64bits_withSeed(payload.data(), payload.size(), seed);
}

void seal(SegmentHeader& header) {
  header.checksum = header_checksum(header, 0);
}

bool is_sealed(const SegmentHeader& header) {
  return header.magic == kSegmentMagic && header.checksum == header_checksum(header, 0);
}

void seal(BlockHeader& header, std::uint64_t seed) {
  header.checksum = header_checksum(header, seed);
}

bool is_sealed(const BlockHeader& header, std::uint64_t seed) {
  return header.magic == kBlockMagic && header.rows <= kBlockRowsMax &&
         header.payload_bytes <= kPayloadBytesMax &&
         header.checksum == header_checksum(header, seed);
}

std::string segment_name(SegmentKind kind, std::uint32_t number) {
  return kind == SegmentKind::dictionary ? "dictionary.seg"
                                         : fmt::format("events-{:04}.seg", number);
}

std::optional<std::uint32_t> segment_number(std::string_view name) {
  if (name == segment_name(SegmentKind::dictionary, 0))
    return 0;
  constexpr std::string_view kPrefix = "events-";
  if (!name.starts_with(kPrefix))
    return std::nullopt;
  std::uint32_t number = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
  if (number == 0 || name != segment_name(SegmentKind::events, number))
    return std::nullopt;
  return number;
}

TraceId new_trace_id() {
  TraceId id{};
  // Early in boot, or if the call is forbidden, time and process still make the id unique.
  if (getrandom(id.data(), id.size(), GRND_NONBLOCK) != static_cast<ssize_t>(id.size())) {
    const std::uint64_t parts[2] = {realtime_ns(),
                                    monotonic_ns() ^ static_cast<std::uint64_t>(getpid()) << 40U};
    static_assert(sizeof parts == sizeof id);
    std::memcpy(id.data(), parts, sizeof parts);
  }
  return id;
}

std::string to_hex(const TraceId& trace_id) {
  return fmt::format("{:02x}", fmt::join(trace_id, ""));
}

std::optional<TraceId> trace_id_from_hex(std::string_view text) {
  TraceId id{};
  if (text.size() != 2 * id.size())
    return std::nullopt;
  for (std::size_t i = 0; i < id.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, id[i], 16).ptr != begin + 2)
      return std::nullopt;
  }
  return id;
}

} // namespace iotrail::store
