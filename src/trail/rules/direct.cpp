// SPDX-License-Identifier: BSD-3-Clause
//
// Bios without pages of a file: direct I/O, metadata, swap, and discards. The kernel source records
// their operation, which owns them.
#include "schema.hpp"
#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

bool is_metadata(const State& state, const Fact& bio) {
  return trail::is_metadata(bio.flags, bio.io_class,
                            state.nodes.contains(static_cast<std::uint32_t>(bio.file)));
}

// True for a program that has opened the disk itself.
bool is_read_into_cache(const Fact& bio) {
  return bio.io_class == IOT_io_class_device && bio.operation() == IOT_block_read;
}

// A bio that reads compressed bytes, without a known range. If the unit that the file system
// decompresses is known, all of the operation's pages have another bio.
Cause cause_of_compressed(const Fact& bio, bool is_call) {
  if (bio.flags & IOT_block_hint_fault)
    return Cause::mapped_read;
  return is_call && bio.range_bytes == 0 ? Cause::compressed : Cause::metadata;
}

// The memory of a program belongs to a call, even if its thread handed it on. The same holds for what
// a device above had.
bool is_of_kernel_thread(const State& state, const Fact& bio) {
  return state.kernel_threads.contains(static_cast<std::uint32_t>(bio.pid)) && bio.above == 0 &&
         bio.io_class != IOT_io_class_direct && bio.io_class != IOT_io_class_compressed;
}

bool moves_data(const Fact& bio) {
  return bio.operation() == IOT_block_read || bio.operation() == IOT_block_write;
}

Cause cause_of(const State& state, const Fact& bio, bool is_call) {
  if (is_metadata(state, bio))
    return bio.op_id ? Cause::metadata : Cause::other_metadata;
  if (bio.flags & IOT_block_hint_swap)
    return Cause::swap;
  if (bio.op_id == 0)
    return is_of_kernel_thread(state, bio) ? Cause::kernel_thread : Cause::unknown;
  if (!moves_data(bio))
    return Cause::discard;
  if (is_read_into_cache(bio))
    return Cause::read;
  if (bio.io_class == IOT_io_class_compressed)
    return cause_of_compressed(bio, is_call);
  // Memory of a program: its call may be on the disk's own node, which is not in the trace.
  const bool is_direct = bio.file != 0 || bio.io_class == IOT_io_class_direct;
  return is_call || is_direct ? Cause::direct : Cause::metadata;
}

} // namespace

BioParts charge_other(State& state, const Fact& bio) {
  const Call* call = state.call_of(bio.op_id, bio.file);
  BioPart part{0, bio.bytes, cause_of(state, bio, call != nullptr)};
  if (part.cause == Cause::other_metadata)
    if (BioParts shares = shares_of_commit(state, bio); !shares.empty())
      return shares;
  part.is_repeat = bio.above != 0;
  if (!is_remainder(part.cause)) {
    part.op_id = bio.op_id;
    part.pid = static_cast<std::uint32_t>(bio.pid);
  }
  // The operation is certain. The purpose is not, if the bio is not known as metadata, or its call
  // is not in the trace. For a read into the cache of a disk, the requested part is uncertain too:
  // a bio has no position in the node.
  if ((part.cause == Cause::metadata && !is_metadata(state, bio)) ||
      (part.cause == Cause::direct && !call && bio.io_class != IOT_io_class_direct) ||
      (part.cause == Cause::kernel_thread && moves_data(bio)) ||
      (part.cause == Cause::read && (bio.flags & IOT_block_hint_readahead) != 0))
    part.confidence = Confidence::inferred;
  else if (part.cause == Cause::metadata && holds_changes_of_others(state, bio))
    part.confidence = Confidence::shared;
  return {part};
}

// A stacked device passes on direct I/O in bios that are known only by their pages. Memory that
// programs share belongs to a file, but not to the file of the call, and is never dirty.
BioParts charge_shared_memory(State& state, const Fact& bio) {
  const auto call = state.calls.find(bio.op_id);
  if (call == state.calls.end() || !state.direct.contains(bio.op_id) || bio.file == 0 ||
      call->second.file == bio.file || (bio.flags & IOT_block_hint_meta) != 0)
    return {};
  bool is_dirty = false;
  if (const auto file = state.files.find(static_cast<std::uint32_t>(bio.file));
      file != state.files.end()) {
    const std::uint64_t end = bio.offset + bio.bytes;
    file->second.dirty.visit(bio.offset, end,
                             [&](std::uint64_t, std::uint64_t, const Dirty&) { is_dirty = true; });
    file->second.carried.visit(
        bio.offset, end, [&](std::uint64_t, std::uint64_t, const Carried&) { is_dirty = true; });
  }
  if (is_dirty)
    return {};
  BioPart part{0, bio.bytes, Cause::direct};
  part.op_id = bio.op_id;
  part.pid = call->second.pid;
  part.file = call->second.file;
  return {part};
}

} // namespace iotrail::trail
