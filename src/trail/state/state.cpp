// SPDX-License-Identifier: BSD-3-Clause
#include "trail/state/state.hpp"

#include <algorithm>

namespace iotrail::trail {

Call* State::call_of(std::uint64_t op_id, std::uint64_t file) {
  const auto found = op_id ? calls.find(op_id) : calls.end();
  return found != calls.end() && found->second.file == file ? &found->second : nullptr;
}

Call* State::call_for(const Fact& fact, FactKind kind) {
  if (Call* own = call_of(fact.op_id, fact.file))
    return own;
  const auto file = files.find(static_cast<std::uint32_t>(fact.file));
  if (file == files.end())
    return nullptr;
  Call* of_unknown_place = nullptr;
  for (const auto& [number, op_id] : file->second.calls) {
    ++looks;
    Call& call = calls.at(op_id);
    if (call.kind != kind || call.pid != fact.pid)
      continue;
    if (!call.is_placed && kind == FactKind::write)
      of_unknown_place = &call;
    else if (call.begin < fact.offset + fact.bytes && fact.offset < call.end)
      return &call;
  }
  return of_unknown_place;
}

bool State::is_sure_of(const CachedFile& file, std::uint64_t ts_ns) const {
  return ts_ns < std::min(file.doubtful_ns, losses.dirty_ns());
}

const Fact* State::truncation_of(std::uint64_t op_id) const {
  const auto found = truncations.find(op_id);
  return found != truncations.end() ? &found->second : nullptr;
}

bool State::is_of_path(std::uint64_t op_id) const {
  return op_id != 0 && std::ranges::binary_search(of_paths, op_id);
}

std::uint64_t State::all_looks() const {
  std::uint64_t sum = looks;
  for (const auto& [device, queue] : queues)
    sum += queue.looks();
  return sum;
}

Fate& State::fate(std::uint32_t pid, std::uint32_t file) {
  Fate& fate = fates[std::uint64_t{pid} << 32U | file];
  fate.pid = pid;
  fate.file = file;
  return fate;
}

std::uint64_t State::block_bytes_of(std::uint32_t file) const {
  const auto file_system = file_systems.find(file);
  const auto found = file_system == file_systems.end() ? blocks_bytes.end()
                                                       : blocks_bytes.find(file_system->second);
  return found == blocks_bytes.end() ? kPageBytes : found->second;
}

bool State::is_traced(std::uint64_t pid) const {
  return traced.empty() || traced.contains(static_cast<std::uint32_t>(pid));
}

} // namespace iotrail::trail
