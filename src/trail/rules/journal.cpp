// SPDX-License-Identifier: BSD-3-Clause
//
// A commit of a journal carries the changes of all tasks that made some in its transaction. No
// block belongs to one of them alone. So each operation gets a share of the commit's bytes, by the
// blocks that it changed.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

TransactionKey key_of(const Fact& fact) {
  return {static_cast<std::uint32_t>(fact.device), fact.sector};
}

// The end of a share, in bytes of the commit.
std::uint64_t end_of(const Commit& commit, std::uint64_t blocks_until) {
  return in_proportion(commit.bytes, blocks_until, commit.transaction.blocks);
}

// Changes of tasks that are not in the trace: as large as the others on average.
void add_others(Transaction& transaction, std::uint64_t handles) {
  const std::uint64_t known = transaction.handles;
  if (handles <= known)
    return;
  const std::uint64_t others = in_proportion(transaction.blocks, handles - known, known);
  transaction.blocks += others;
  transaction.changes.push_back({0, 0, others});
}

} // namespace

void join_transaction(State& state, const Fact& handle) {
  if (handle.op_id == 0)
    return;
  const std::uint64_t blocks = std::min<std::uint64_t>(handle.bytes, kMostBlocks);
  Transaction& transaction = state.transactions[key_of(handle)];
  ++transaction.handles;
  transaction.blocks += blocks;
  if (!transaction.changes.empty() && transaction.changes.back().op_id == handle.op_id)
    transaction.changes.back().blocks += blocks;
  else
    transaction.changes.push_back({handle.op_id, static_cast<std::uint32_t>(handle.pid), blocks});
}

void begin_commit(State& state, const Fact& fact) {
  if (fact.result < fact.call) // traced changes, and all
    state.foreign_commit_until_ns = std::max(state.foreign_commit_until_ns, fact.end_ns());
  state.commits.erase(fact.pid);
  auto found = state.transactions.extract(key_of(fact));
  if (!found || found.mapped().blocks == 0)
    return;
  Commit commit{.transaction = std::move(found.mapped()),
                .end_ns = fact.end_ns(),
                .blocks_logged = std::min<std::uint64_t>(fact.bytes, kMostBlocks)};
  add_others(commit.transaction, std::min<std::uint64_t>(fact.call, kMostBlocks));
  state.commits.emplace(fact.pid, std::move(commit));
}

bool holds_changes_of_others(const State& state, const Fact& bio) {
  if (bio.operation() != IOT_block_write)
    return false;
  if (bio.io_class == IOT_io_class_journal)
    return bio.ts_ns <= state.foreign_commit_until_ns;
  return state.checkpoints.contains(bio.op_id);
}

BioParts shares_of_commit(State& state, const Fact& bio) {
  const auto found = state.commits.find(bio.pid);
  if (found == state.commits.end() || bio.ts_ns > found->second.end_ns ||
      bio.operation() != IOT_block_write)
    return {};
  Commit& commit = found->second;
  if (commit.bytes == 0) // the first block
    commit.bytes = std::max<std::uint64_t>(bio.bytes, 1) * commit.blocks_logged;
  BioParts parts;
  const std::vector<Change>& changes = commit.transaction.changes;
  for (std::uint64_t at = 0; at < bio.bytes;) {
    const Change& change = changes[commit.at];
    const bool is_last = commit.at + 1 == changes.size();
    const std::uint64_t share_end = end_of(commit, commit.blocks_before + change.blocks);
    const std::uint64_t left = share_end - std::min(share_end, commit.position);
    const std::uint64_t end = is_last ? bio.bytes : std::min(bio.bytes, at + left);
    if (end > at)
      parts.push_back({.begin = at,
                       .end = end,
                       .cause = change.op_id ? Cause::metadata : Cause::other_metadata,
                       .confidence = change.op_id ? Confidence::shared : Confidence::exact,
                       .op_id = change.op_id,
                       .pid = change.pid,
                       .is_repeat = bio.above != 0});
    commit.position += end - at;
    at = end;
    if (at < bio.bytes) {
      commit.blocks_before += change.blocks;
      ++commit.at;
    }
  }
  return parts;
}

} // namespace iotrail::trail
