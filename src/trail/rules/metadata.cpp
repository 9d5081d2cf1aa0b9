// SPDX-License-Identifier: BSD-3-Clause
//
// Directories, and files in which a file system keeps metadata of its own, as f2fs does its nodes: no program stores there or
// asks for their bytes, but what it does to its files needs them.
#include "trail/rules/rules.hpp"

namespace iotrail::trail {

// Only the first one is told that changes a page before it is written: others may have done so too.
void store_dirty_metadata(State& state, const Fact& dirtied) {
  const bool is_known = dirtied.op_id != 0 || state.is_traced(dirtied.pid);
  const Dirty dirty{.op_id = dirtied.op_id,
                    .stored_ns = dirtied.ts_ns,
                    .pid = static_cast<std::uint32_t>(dirtied.pid),
                    .cause = is_known ? Cause::metadata : Cause::other_metadata,
                    .confidence = Confidence::shared};
  state.files[static_cast<std::uint32_t>(dirtied.file)].dirty.fill(
      dirtied.offset, dirtied.offset + dirtied.bytes, dirty);
}

BioParts as_of_its_file(const State& state, const Fact& bio, BioParts parts) {
  if (!state.of_metadata.contains(static_cast<std::uint32_t>(bio.file)))
    return parts;
  for (BioPart& part : parts) {
    part.cause = is_remainder(part.cause) || part.cause == Cause::outside ? Cause::other_metadata
                                                                          : Cause::metadata;
    if (part.cause == Cause::other_metadata)
      part.op_id = part.pid = 0;
  }
  return parts;
}

} // namespace iotrail::trail
