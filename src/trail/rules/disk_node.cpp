// SPDX-License-Identifier: BSD-3-Clause
//
// A disk that is written to through its own node (/dev/sda): calls name the node, pages the kernel's own file of the disk,
// in which file systems keep their metadata too, and bios none.
#include <cstdint>

#include "base/bytes.hpp"
#include "schema.hpp"
#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

bool wrote(const Replay& replay, const Fact& pages) {
  const auto found = replay.calls.find(pages.op_id);
  if (pages.op_id == 0 || found == replay.calls.end())
    return false;
  const Call& call = found->second;
  return call.kind == FactKind::write && replay.nodes.contains(call.file) &&
         call.begin < pages.offset + pages.bytes && pages.offset < call.end;
}

} // namespace

Fact pages_of_node(Replay& replay, const Fact& pages) {
  const auto cache = replay.disk_caches.find(static_cast<std::uint32_t>(pages.file));
  if (cache == replay.disk_caches.end())
    return pages;
  Fact of_node = pages;
  if (pages.kind == FactKind::dirtied) {
    if (!wrote(replay, pages))
      return pages;
    of_node.file = replay.calls.at(pages.op_id).file;
    replay.disk_nodes[cache->second] = static_cast<std::uint32_t>(of_node.file);
    replay.written_back.insert(static_cast<std::uint32_t>(of_node.file));
  } else if (const auto node = replay.disk_nodes.find(cache->second);
             node != replay.disk_nodes.end()) {
    of_node.file = node->second;
  }
  return of_node;
}

// The place in the node is that on the disk.
Fact bio_of_node(const Replay& replay, const Fact& bio) {
  const auto node = replay.disk_nodes.find(static_cast<std::uint32_t>(bio.device));
  if (bio.file != 0 || bio.operation() != IOT_block_write ||
      (bio.flags & IOT_block_hint_meta) != 0 || node == replay.disk_nodes.end() ||
      bio.sector >= kFarthest / kSectorBytes)
    return bio;
  Fact of_node = bio;
  of_node.file = node->second;
  of_node.offset = bio.sector * kSectorBytes;
  of_node.is_contiguous = 1;
  const auto cached = replay.files.find(node->second);
  bool is_dirty = false;
  if (cached != replay.files.end())
    cached->second.dirty.visit(
        of_node.offset, of_node.offset + bio.bytes,
        [&](std::uint64_t, std::uint64_t, const Dirty&) { is_dirty = true; });
  return is_dirty ? of_node : bio;
}

} // namespace iotrail::trail
