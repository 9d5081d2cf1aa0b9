// SPDX-License-Identifier: BSD-3-Clause
#include "trail/stacked_files.hpp"

#include <algorithm>
#include <utility>

#include "abi.h"

namespace iotrail::trail {

namespace {

// Pages of a file became dirty, or a bio writes memory of the program to the device.
bool stores(const Fact& fact) {
  return fact.kind == FactKind::dirtied ||
         (fact.kind == FactKind::queued && fact.operation() == IOT_block_write &&
          fact.offset == kNoOffset && (fact.flags & IOT_block_hint_meta) == 0);
}

} // namespace

StackedFiles::StackedFiles(std::unordered_set<std::uint32_t> with_pages,
                           std::unordered_set<std::uint32_t> not_below)
    : with_pages_(std::move(with_pages)), not_below_(std::move(not_below)) {}

// The target position of a copy is not recorded: it may be anywhere.
void StackedFiles::remember(const Fact& write) {
  const bool is_copy = write.kind == FactKind::copy;
  if (write.op_id == 0 || write.file == 0 ||
      (!is_copy && (write.offset >= kFarthest || write.moved() == 0)) ||
      with_pages_.contains(static_cast<std::uint32_t>(write.file)))
    return;
  if (writes_.size() >= most_writes_) {
    std::erase_if(writes_, [&](const auto& item) { return item.second.end_ns < write.ts_ns; });
    most_writes_ = std::max(kWritesKept, 2 * writes_.size()); // the more stay, the rarer the scans
  }
  writes_[write.op_id] = {static_cast<std::uint32_t>(write.file), is_copy ? 0 : write.offset,
                          is_copy ? kFarthest : write.offset + write.moved(), write.end_ns()};
}

std::uint32_t StackedFiles::find_above(const Fact& stored) {
  const auto found = stored.op_id != 0 ? writes_.find(stored.op_id) : writes_.end();
  if (found == writes_.end() || stored.file == 0 ||
      not_below_.contains(static_cast<std::uint32_t>(stored.file)))
    return 0;
  const Write& write = found->second;
  const bool is_same_place =
      stored.offset == kNoOffset ||
      (write.begin < stored.offset + stored.bytes && stored.offset < write.end);
  return is_same_place && write.file != stored.file ? write.file : 0;
}

std::uint32_t StackedFiles::translate(Fact& fact) {
  if (fact.kind == FactKind::write || fact.kind == FactKind::copy)
    remember(fact);
  if (!above_.empty())
    if (const auto above = above_.find(static_cast<std::uint32_t>(fact.file));
        above != above_.end()) {
      fact.file = above->second;
      return 0;
    }
  const std::uint32_t above = stores(fact) ? find_above(fact) : 0;
  if (above == 0)
    return 0;
  above_.emplace(static_cast<std::uint32_t>(fact.file), above);
  fact.file = above;
  return above;
}

} // namespace iotrail::trail
