// SPDX-License-Identifier: BSD-3-Clause
#include "trail/trails.hpp"

#include <algorithm>

#include "schema.hpp"
#include "trail/fact_stream.hpp"
#include "trail/replay.hpp"

namespace iotrail::trail {

namespace {

using Keys = std::unordered_set<std::uint32_t>;

// What is in one column of a table.
Keys find_keys(const store::TraceReader& trace, iot_u16 kind, const char* name) {
  Keys keys;
  const store::TableInfo* table = trace.table(kind);
  const int column = table ? table->column(name) : -1;
  for (const store::BlockInfo& block : trace.blocks()) {
    if (column < 0 || block.kind != kind)
      continue;
    const auto columns = trace.read(block, std::vector<int>{column});
    if (!columns)
      continue;
    const auto* numbers = std::get_if<store::Numbers>(&(*columns)[static_cast<std::size_t>(column)]);
    for (std::size_t row = 0; numbers && row < numbers->size(); ++row)
      keys.insert(static_cast<std::uint32_t>((*numbers)[row]));
  }
  return keys;
}

} // namespace

Trails find_trails(const store::TraceReader& trace) {
  FactStream facts(trace);
  Replay replay;
  replay.first_loss_ns = facts.first_loss_ns();
  replay.has_cache_events =
      std::ranges::find(trace.blocks(), IOT_KIND_cache_dirty, &store::BlockInfo::kind) !=
      trace.blocks().end();
  replay.written_back = find_keys(trace, IOT_KIND_block_queue, "file");
  replay.traced = find_keys(trace, IOT_KIND_processes, "pid");
  while (facts.next())
    replay.step(facts.fact());
  return replay.finish();
}

} // namespace iotrail::trail
