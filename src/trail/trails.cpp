// SPDX-License-Identifier: BSD-3-Clause
#include "trail/trails.hpp"

#include <malloc.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "schema.hpp"
#include "store/reader/event_stream.hpp"
#include "trail/fact_stream.hpp"
#include "trail/replay.hpp"
#include "trail/stacked_files.hpp"

namespace iotrail::trail {

namespace {

using schema::Meaning;
using schema::Role;
using Keys = std::unordered_set<std::uint32_t>;

// The rows of a table with these columns. Empty if the trace lacks one of them.
class Rows {
public:
  Rows(const store::TraceReader& trace, iot_u16 kind, const std::vector<store::ColumnKey>& keys)
      : columns_(columns_of(trace, kind, keys)),
        rows_(trace, store::EventStream::Columns{{kind, columns_}}) {}

  bool next() { return !columns_.empty() && rows_.next(); }
  // `column`: index among the keys.
  std::uint64_t number(std::size_t column) const {
    return rows_.number(static_cast<std::size_t>(columns_[column]));
  }
  std::uint32_t key(std::size_t column) const { return static_cast<std::uint32_t>(number(column)); }

private:
  static std::vector<int> columns_of(const store::TraceReader& trace, iot_u16 kind,
                                     const std::vector<store::ColumnKey>& keys) {
    std::vector<int> columns;
    if (const store::TableInfo* table = trace.table(kind))
      for (const store::ColumnKey& key : keys)
        columns.push_back(table->index(key));
    return columns.empty() || std::ranges::min(columns) < 0 ? std::vector<int>{} : columns;
  }

  std::vector<int> columns_;
  store::EventStream rows_;
};

Keys find_keys(const store::TraceReader& trace, iot_u16 kind, Meaning meaning) {
  Keys keys;
  for (Rows rows(trace, kind, {meaning}); rows.next();)
    keys.insert(rows.key(0));
  return keys;
}

void find_kernel_threads(const store::TraceReader& trace, Replay& replay) {
  constexpr std::uint32_t kParentOfKernelThreads = 2; // kthreadd
  for (Rows rows(trace, IOT_KIND_processes, {Meaning::pid, std::string_view("parent_pid")});
       rows.next();)
    if (rows.key(1) == kParentOfKernelThreads)
      replay.kernel_threads.insert(rows.key(0));
}

// File systems have the number of their disk. btrfs has another one, without a driver, and an inode
// for its metadata.
void note_file_system(Replay& replay, std::uint32_t file, std::uint32_t device,
                      std::uint64_t mode) {
  replay.file_systems[file] = device;
  if (device >> IOT_MINOR_BITS != 0 || mode == 0)
    replay.on_disks.insert(device);
}

// The kernel's own inode of a disk has no permissions, unlike a node; its number is the disk's.
void find_files_of_kinds(const store::TraceReader& trace, Replay& replay) {
  for (Rows files(trace, IOT_KIND_files,
                  {Meaning::file, Meaning::inode, Meaning::mode, Meaning::device});
       files.next();) {
    const std::uint32_t file = files.key(0);
    note_file_system(replay, file, files.key(3), files.number(2));
    const std::uint64_t type = files.number(2) & IOT_CHOICE_file_type;
    if (files.number(2) == IOT_file_type_block_device)
      replay.disk_caches[file] = files.key(1);
    else if (type == IOT_file_type_block_device)
      replay.nodes.insert(file);
    else if (type == 0 || type == IOT_file_type_directory)
      replay.of_metadata.insert(file);
  }
}

// What must be known of bios before the replay.
struct BioFacts {
  // Operations with a bio for a file's read or write, but without pages of the file or of its disk's
  // cache. An older trace has no record of pages.
  std::unordered_set<std::uint64_t> direct_operations;
  bool are_any_without_range = false; // of compressed bytes
  // The largest size by which all positions and lengths of a file system's bios can be divided, if
  // that is below a page.
  std::unordered_map<std::uint32_t, std::uint64_t> blocks_bytes;
};

void note_block(BioFacts& facts, const Replay& replay, std::uint32_t file, std::uint64_t offset,
                std::uint64_t bytes) {
  const std::uint64_t block_bytes = std::gcd(std::gcd(offset, bytes), kPageBytes);
  const auto file_system = replay.file_systems.find(file);
  if (block_bytes == kPageBytes || block_bytes < kSectorBytes ||
      file_system == replay.file_systems.end())
    return;
  std::uint64_t& smallest =
      facts.blocks_bytes.try_emplace(file_system->second, kPageBytes).first->second;
  smallest = std::min(smallest, block_bytes);
}

BioFacts find_facts_of_bios(const store::TraceReader& trace, const Replay& replay) {
  std::vector<store::ColumnKey> keys{Meaning::op, Meaning::offset, Meaning::file,
                                     Meaning::flags_block, Meaning::bytes};
  const store::TableInfo* table = trace.table(iot_u16{IOT_KIND_block_queue});
  const bool has_class = table && table->index(Meaning::value_io_class) >= 0;
  if (has_class)
    keys.emplace_back(Meaning::value_io_class);
  BioFacts facts;
  for (Rows bios(trace, IOT_KIND_block_queue, keys); bios.next();) {
    const std::uint64_t io_class = has_class ? bios.number(5) : 0;
    if (bios.number(1) != kNoOffset) {
      if (io_class != IOT_io_class_compressed)
        note_block(facts, replay, bios.key(2), bios.number(1), bios.number(4));
      continue;
    }
    if (io_class == IOT_io_class_compressed)
      facts.are_any_without_range = true;
    else if (bios.number(0) != 0 && bios.number(2) != 0 &&
             !is_metadata(bios.number(3), io_class, false))
      facts.direct_operations.insert(bios.number(0));
  }
  return facts;
}

// Operations on paths that may change files, of calls and io_uring. Opens count unless they are
// read-only.
std::vector<std::uint64_t> find_operations_on_paths(const store::TraceReader& trace) {
  std::vector<std::uint64_t> operations;
  for (const iot_u16 kind :
       {IOT_KIND_syscall_setattr, IOT_KIND_syscall_xattr, IOT_KIND_syscall_rename,
        IOT_KIND_syscall_link, IOT_KIND_syscall_truncate, IOT_KIND_async_path})
    for (Rows calls(trace, kind, {Role::op}); calls.next();)
      operations.push_back(calls.number(0));
  for (Rows opens(trace, IOT_KIND_syscall_open, {Role::op, Meaning::flags_open}); opens.next();)
    if ((opens.number(1) & (IOT_open_O_WRONLY | IOT_open_O_RDWR | IOT_open_O_TRUNC)) != 0)
      operations.push_back(opens.number(0));
  std::ranges::sort(operations);
  return operations;
}

// Recorded programs have few operations in flight in each collection to search. This limits the
// time for a hostile trace with many.
constexpr std::uint64_t kFactsBetweenChecks = 256;
constexpr std::uint64_t kFactsBetweenMemoryChecks = 1U << 14U;
constexpr std::uint64_t kLooksOfAny = 50'000'000;
constexpr std::uint64_t kLooksOfFact = 256;

bool is_too_dear(const Replay& replay, std::uint64_t facts) {
  return replay.all_looks() > kLooksOfAny + kLooksOfFact * facts;
}

// Links, operations and pages of a recorder's trace take five times its size. Most of a forged
// trace may be constant columns, which take none.
constexpr std::uint64_t kBytesFree = 256U << 20U;
constexpr std::uint64_t kBytesOfStored = 16;

std::uint64_t bytes_in_use() {
  const struct mallinfo2 memory = ::mallinfo2();
  return memory.uordblks + memory.hblkhd;
}

// The memory that all collections of the engine may take.
class MemoryBudget {
public:
  explicit MemoryBudget(const store::TraceReader& trace) : bytes_max_(bytes_in_use() + kBytesFree) {
    for (const store::BlockInfo& block : trace.blocks())
      bytes_max_ += kBytesOfStored * block.stored_bytes;
  }
  bool is_used_up() const { return bytes_in_use() > bytes_max_; }

private:
  std::uint64_t bytes_max_;
};

std::string limit_text(const store::TraceReader& trace, const Fact& fact, std::string_view why) {
  const std::uint64_t begin_ns = trace.manifest().begin_ns;
  return fmt::format("CAUSES UP TO SECOND {:.6f}: {}",
                     static_cast<double>(fact.ts_ns - std::min(fact.ts_ns, begin_ns)) / 1e9, why);
}

// Why the replay ends before this fact; empty: it continues.
std::string_view reason_to_end(const Replay& replay, std::uint64_t facts,
                               const MemoryBudget& memory) {
  if (facts % kFactsBetweenChecks == 0 && is_too_dear(replay, facts))
    return "so many operations are under way at once that the others would take too long.";
  if (facts % kFactsBetweenMemoryChecks == 0 && memory.is_used_up())
    return "more of them need too much memory.";
  return {};
}

} // namespace

Trails find_trails(const store::TraceReader& trace) {
  Replay replay;
  find_files_of_kinds(trace, replay);
  BioFacts of_bios = find_facts_of_bios(trace, replay);
  FactStream facts(trace, of_bios.are_any_without_range);
  replay.has_bios = trace.has_rows(IOT_KIND_block_queue);
  replay.losses = facts.loss_times();
  replay.has_cache_events = trace.has_rows(IOT_KIND_cache_dirty);
  replay.has_evictions = trace.has_rows(IOT_KIND_cache_delete);
  replay.written_back = find_keys(trace, IOT_KIND_block_queue, Meaning::file);
  replay.disks = find_keys(trace, IOT_KIND_block_complete, Meaning::device);
  replay.blocks_bytes = std::move(of_bios.blocks_bytes);
  replay.direct = std::move(of_bios.direct_operations);
  replay.of_paths = find_operations_on_paths(trace);
  replay.traced = find_keys(trace, IOT_KIND_processes, Meaning::pid);
  find_kernel_threads(trace, replay);
  Keys with_pages = find_keys(trace, IOT_KIND_cache_dirty, Meaning::file);
  with_pages.insert(replay.written_back.begin(), replay.written_back.end());
  Keys not_below = replay.of_metadata;
  for (const auto& [file, disk] : replay.disk_caches)
    not_below.insert(file);
  StackedFiles stacked(std::move(with_pages), std::move(not_below));
  const MemoryBudget memory(trace);
  for (std::uint64_t number = 0; facts.next(); ++number) {
    Fact fact = facts.fact();
    if (const auto why = reason_to_end(replay, number, memory); !why.empty()) {
      trace.add_limit(limit_text(trace, fact, why));
      break;
    }
    const auto file = static_cast<std::uint32_t>(fact.file);
    if (const std::uint32_t above = stacked.translate(fact); above != 0) {
      replay.written_back.insert(above); // bios carry its pages, as those of the file below
      replay.take_over(file, above);
    }
    replay.step(fact);
  }
  Trails trails = replay.finish();
  if (trace.damage()
          .any()) // damage is found while reading, and may have removed events of any time
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
