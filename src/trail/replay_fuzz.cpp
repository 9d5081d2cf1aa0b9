// SPDX-License-Identifier: BSD-3-Clause
//
// Any facts in any order: the engine neither fails nor loses written bytes.
#include <algorithm>
#include <cstring>

#include "base/result.hpp"
#include "trail/replay.hpp"

using namespace iotrail::trail;

namespace {

// Small numbers, so that positions and operations coincide; sometimes the largest number.
struct RawFact {
  std::uint8_t kind;
  std::uint8_t time;
  std::uint8_t duration;
  std::uint8_t op;
  std::uint8_t pid_and_file;
  std::uint8_t offset;
  std::uint8_t bytes;
  std::uint8_t flags;
};

std::uint64_t place(std::uint8_t byte) {
  return byte == 255 ? kFarthest : byte == 254 ? kNoOffset : byte * std::uint64_t{512};
}

Fact fact_of(const RawFact& raw, std::uint64_t& now_ns) {
  now_ns += raw.time;
  Fact fact;
  fact.kind = static_cast<FactKind>(raw.kind % (static_cast<unsigned>(FactKind::completed) + 1));
  fact.ts_ns = now_ns;
  fact.duration_ns = raw.duration;
  fact.op_id = raw.op % 8;
  fact.pid = raw.pid_and_file % 3;
  fact.file = raw.pid_and_file / 3 % 3;
  fact.offset = place(raw.offset);
  fact.bytes = raw.bytes == 255 ? kFarthest : raw.bytes * std::uint64_t{512};
  if (fact.kind == FactKind::dirtied || fact.kind == FactKind::evicted)
    fact.offset = std::min(fact.offset, kFarthest);
  fact.result = fact.bytes;
  fact.sector = raw.offset;
  fact.flags = raw.flags % 4;
  fact.is_contiguous = raw.flags / 4 % 2;
  return fact;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Replay replay;
  replay.has_cache_events = size % 2 == 0;
  replay.written_back = {1};
  replay.direct = {7};
  replay.of_paths = {5};
  std::uint64_t now_ns = 0;
  for (; size >= sizeof(RawFact); data += sizeof(RawFact), size -= sizeof(RawFact)) {
    RawFact raw;
    std::memcpy(&raw, data, sizeof raw);
    replay.step(fact_of(raw, now_ns));
  }
  for (const Fate& fate : replay.finish().fates)
    IOTRAIL_CHECK(fate.written == fate.to_device + fate.failed + fate.absorbed + fate.dropped +
                                      fate.inlined + fate.pending);
  return 0;
}
