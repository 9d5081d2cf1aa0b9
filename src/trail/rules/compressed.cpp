// SPDX-License-Identifier: BSD-3-Clause
//
// A bio with the compressed bytes of a range of a file. Which of them hold which bytes of the range
// is unknown: each call that wrote to it gets its share of the bio. With several calls, these shares
// are no fact of the kernel.
#include <algorithm>

#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

// Bytes that a process stored, by a call or through a mapping.
bool is_data(const BioPart& part) {
  return part.cause == Cause::write_back || part.cause == Cause::mapped ||
         part.cause == Cause::outside;
}

bool have_several_calls(const BioParts& parts) {
  const BioPart* first = nullptr;
  for (const BioPart& part : parts) {
    if (part.plain_bytes == 0)
      continue;
    if (first && (first->op_id != part.op_id || first->pid != part.pid))
      return true;
    first = &part;
  }
  return false;
}

// The bytes of a part that is too small for a byte of the bio go to another one, so that all bytes
// of the range are in one. Without another, it gets the first byte.
void add_left(BioParts& parts, BioPart left) {
  if (left.plain_bytes == 0)
    return;
  const auto owned =
      std::ranges::find_if(parts, [](const BioPart& part) { return part.plain_bytes != 0; });
  if (owned != parts.end()) {
    owned->plain_bytes += left.plain_bytes;
    return;
  }
  left.begin = 0;
  left.end = 1;
  if (++parts.front().begin == parts.front().end)
    parts.erase(parts.begin());
  parts.insert(parts.begin(), left);
}

} // namespace

BioParts shares_of(const BioParts& parts, std::uint64_t range_bytes, std::uint64_t bio_bytes) {
  BioParts shares;
  BioPart left{};
  for (BioPart part : parts) {
    part.begin = in_proportion(bio_bytes, part.begin, range_bytes);
    part.end = in_proportion(bio_bytes, part.end, range_bytes);
    if (part.begin < part.end) {
      shares.push_back(part);
    } else if (part.plain_bytes != 0) {
      part.plain_bytes += left.plain_bytes;
      left = part;
    }
  }
  add_left(shares, left);
  return shares;
}

BioParts charge_compressed(State& state, const Fact& bio) {
  Fact range = bio;
  range.bytes = std::min(bio.range_bytes, kFarthest);
  range.is_contiguous = 1;
  BioParts plain = charge_write_back(state, range);
  for (BioPart& part : plain) {
    part.plain_bytes = is_data(part) ? part.end - part.begin : 0;
    if (part.offset == kNoOffset)
      part.offset = bio.offset + part.begin;
    if (part.cause == Cause::write_back)
      part.cause = Cause::compressed;
  }
  BioParts parts = shares_of(plain, range.bytes, bio.bytes);
  if (have_several_calls(parts))
    for (BioPart& part : parts)
      part.confidence = std::max(part.confidence, Confidence::shared);
  return parts;
}

} // namespace iotrail::trail
