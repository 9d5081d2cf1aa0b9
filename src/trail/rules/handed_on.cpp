// SPDX-License-Identifier: BSD-3-Clause
//
// Each device of a stacked disk has a bio for the same pages as the device above, with the same
// causes.
#include "trail/rules/rules.hpp"

namespace iotrail::trail {

BioParts parts_from_above(const RangeMap<Carried>& carried, const Fact& bio) {
  BioParts parts;
  std::uint64_t reached = bio.offset;
  carried.visit(bio.offset, bio.offset + bio.bytes,
                [&](std::uint64_t begin, std::uint64_t end, const Carried& above) {
                  if (begin != reached || above.device == bio.device)
                    return;
                  parts.push_back({.begin = begin - bio.offset,
                                   .end = end - bio.offset,
                                   .cause = above.cause,
                                   .confidence = above.confidence,
                                   .op_id = above.op_id,
                                   .pid = above.pid,
                                   .stored_ns = above.stored_ns,
                                   .offset = begin,
                                   .is_repeat = true});
                  reached = end;
                });
  return reached == bio.offset + bio.bytes ? parts : BioParts{};
}

void remember_for_below(RangeMap<Carried>& carried, const Fact& bio, const BioParts& parts) {
  for (const BioPart& part : parts) {
    const std::uint64_t begin = part.offset == kNoOffset ? bio.offset + part.begin : part.offset;
    const std::uint64_t end = begin + (part.end - part.begin);
    carried.take(begin, end, [](std::uint64_t, std::uint64_t, const Carried&) {});
    carried.put(begin, end,
                {part.op_id, part.stored_ns, part.pid, static_cast<std::uint32_t>(bio.device),
                 part.cause, part.confidence});
  }
}

} // namespace iotrail::trail
