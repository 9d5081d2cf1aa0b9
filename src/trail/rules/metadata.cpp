// SPDX-License-Identifier: BSD-3-Clause
//
// Directories, and files in which a file system keeps its own metadata, as f2fs keeps its nodes. No
// program stores or requests their bytes, but operations on its files need them.
#include "trail/rules/rules.hpp"

namespace iotrail::trail {

// Only the first change to a page before its write-back is recorded: others may have changed it
// too.
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
