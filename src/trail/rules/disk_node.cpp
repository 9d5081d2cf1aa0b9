// SPDX-License-Identifier: BSD-3-Clause
//
// A disk that programs write to through its device node (/dev/sda). Calls have the node as their
// file; pages belong to the kernel's internal file of the disk, which file systems also use for
// metadata; bios have no file.
#include <cstdint>

#include "base/bytes.hpp"
#include "schema.hpp"
#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

bool wrote(const State& state, const Fact& pages) {
  const auto found = state.calls.find(pages.op_id);
  if (pages.op_id == 0 || found == state.calls.end())
    return false;
  const Call& call = found->second;
  return call.kind == FactKind::write && state.nodes.contains(call.file) &&
         call.begin < pages.offset + pages.bytes && pages.offset < call.end;
}

} // namespace

Fact pages_of_node(State& state, const Fact& pages) {
  const auto cache = state.disk_caches.find(static_cast<std::uint32_t>(pages.file));
  if (cache == state.disk_caches.end())
    return pages;
  Fact of_node = pages;
  if (pages.kind == FactKind::dirtied) {
    if (!wrote(state, pages))
      return pages;
    of_node.file = state.calls.at(pages.op_id).file;
    state.disk_nodes[cache->second] = static_cast<std::uint32_t>(of_node.file);
    state.written_back.insert(static_cast<std::uint32_t>(of_node.file));
  } else if (const auto node = state.disk_nodes.find(cache->second);
             node != state.disk_nodes.end()) {
    of_node.file = node->second;
  }
  return of_node;
}

// The position in the node is the position on the disk.
Fact bio_of_node(const State& state, const Fact& bio) {
  const auto node = state.disk_nodes.find(static_cast<std::uint32_t>(bio.device));
  if (bio.file != 0 || bio.operation() != IOT_block_write ||
      (bio.flags & IOT_block_hint_meta) != 0 || node == state.disk_nodes.end() ||
      bio.sector >= kFarthest / kSectorBytes)
    return bio;
  Fact of_node = bio;
  of_node.file = node->second;
  of_node.offset = bio.sector * kSectorBytes;
  of_node.is_contiguous = 1;
  const auto cached = state.files.find(node->second);
  bool is_dirty = false;
  if (cached != state.files.end())
    cached->second.dirty.visit(
        of_node.offset, of_node.offset + bio.bytes,
        [&](std::uint64_t, std::uint64_t, const Dirty&) { is_dirty = true; });
  return is_dirty ? of_node : bio;
}

} // namespace iotrail::trail
