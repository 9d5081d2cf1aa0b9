// SPDX-License-Identifier: BSD-3-Clause
#include "trail/trails.hpp"

#include <algorithm>

#include "schema.hpp"
#include "store/event_stream.hpp"
#include "trail/fact_stream.hpp"
#include "trail/replay.hpp"
#include "trail/stacked_files.hpp"

namespace iotrail::trail {

namespace {

using Keys = std::unordered_set<std::uint32_t>;

// What is in one column of a table.
Keys find_keys(const store::TraceReader& trace, iot_u16 kind, const char* name) {
  Keys keys;
  const store::TableInfo* table = trace.table(kind);
  const int column = table ? table->column(name) : -1;
  if (column < 0)
    return keys;
  store::EventStream rows(trace, store::EventStream::Columns{{kind, {column}}});
  while (rows.next())
    keys.insert(static_cast<std::uint32_t>(rows.number(static_cast<std::size_t>(column))));
  return keys;
}

// A bio of a read or write of a file that carries no pages of it. An older trace does not tell of pages.
std::unordered_set<std::uint64_t> find_direct_operations(const store::TraceReader& trace) {
  std::unordered_set<std::uint64_t> operations;
  const store::TableInfo* table = trace.table(IOT_KIND_block_queue);
  if (table == nullptr)
    return operations;
  std::vector<int> columns;
  for (const char* name : {"op_id", "offset", "file", "flags"})
    columns.push_back(table->column(name));
  if (std::ranges::min(columns) < 0)
    return operations;
  store::EventStream bios(trace, {{IOT_KIND_block_queue, columns}});
  const auto number = [&](std::size_t i) {
    return bios.number(static_cast<std::size_t>(columns[i]));
  };
  while (bios.next())
    if (number(0) != 0 && number(1) == kNoOffset && number(2) != 0 &&
        (number(3) & IOT_block_hint_meta) == 0)
      operations.insert(number(0));
  return operations;
}

struct BlockDeviceFiles {
  Keys nodes;                                              // that programs open
  std::unordered_map<std::uint32_t, std::uint32_t> caches; // the kernel's own: the disk
};

// The kernel's own inode of a disk has no permissions, which a node has; its number is the disk's.
BlockDeviceFiles find_block_device_files(const store::TraceReader& trace) {
  constexpr std::uint64_t kBareBlockDevice = 0060000;
  constexpr std::uint64_t kType = 0170000;
  BlockDeviceFiles found;
  const store::TableInfo* table = trace.table(IOT_KIND_files);
  if (table == nullptr)
    return found;
  std::vector<int> columns;
  for (const char* name : {"file", "inode", "mode"})
    columns.push_back(table->column(name));
  if (std::ranges::min(columns) < 0)
    return found;
  store::EventStream files(trace, {{IOT_KIND_files, columns}});
  const auto number = [&](std::size_t i) {
    return files.number(static_cast<std::size_t>(columns[i]));
  };
  while (files.next())
    if (const auto file = static_cast<std::uint32_t>(number(0)); number(2) == kBareBlockDevice)
      found.caches[file] = static_cast<std::uint32_t>(number(1));
    else if ((number(2) & kType) == kBareBlockDevice)
      found.nodes.insert(file);
  return found;
}

} // namespace

Trails find_trails(const store::TraceReader& trace) {
  FactStream facts(trace);
  Replay replay;
  replay.losses = facts.loss_times();
  replay.has_cache_events = trace.has_rows(IOT_KIND_cache_dirty);
  replay.has_evictions = trace.has_rows(IOT_KIND_cache_delete);
  replay.written_back = find_keys(trace, IOT_KIND_block_queue, "file");
  replay.disks = find_keys(trace, IOT_KIND_block_complete, "device");
  replay.direct = find_direct_operations(trace);
  BlockDeviceFiles devices = find_block_device_files(trace);
  replay.disk_caches = std::move(devices.caches);
  replay.nodes = std::move(devices.nodes);
  replay.traced = find_keys(trace, IOT_KIND_processes, "pid");
  Keys with_pages = find_keys(trace, IOT_KIND_cache_dirty, "file");
  with_pages.insert(replay.written_back.begin(), replay.written_back.end());
  StackedFiles stacked(std::move(with_pages), replay.disk_caches);
  while (facts.next()) {
    Fact fact = facts.fact();
    if (const std::uint32_t above = stacked.translate(fact); above != 0)
      replay.written_back.insert(above); // bios carry its pages, as those of the file below
    replay.step(fact);
  }
  Trails trails = replay.finish();
  if (trace.damage()
          .any()) // is found while it is read, and may have taken away what happened at any time
    for (Link& link : trails.links)
      link.confidence = Confidence::inferred;
  return trails;
}

CompletedBytes sum_completed(const Trails& trails) {
  CompletedBytes sum;
  for (const Link& link : trails.links) {
    if (link.completed_ns == 0)
      continue;
    sum.all += link.bytes;
    if (is_remainder(link.cause))
      continue;
    sum.attributed += link.bytes;
    if (link.confidence == Confidence::exact)
      sum.exact += link.bytes;
  }
  return sum;
}

} // namespace iotrail::trail
