// SPDX-License-Identifier: BSD-3-Clause
//
// The engine's state at one time of a trace. It has the dirty and read-ahead ranges of each file,
// everything in flight, and the links found so far. The rules (rules/) read and change it; the
// driver (replay.hpp) keeps the calls in it. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trail/state/device_queue.hpp"
#include "trail/state/fact.hpp"
#include "trail/state/link.hpp"
#include "trail/state/loss_times.hpp"
#include "trail/state/range_map.hpp"

namespace iotrail::trail {

// Bytes in the page cache that differ from those on the device.
struct Dirty {
  std::uint64_t op_id;
  std::uint64_t stored_ns;
  std::uint32_t pid;
  Cause cause; // write_back, mapped, outside, along, metadata, other_metadata
  Confidence confidence = Confidence::exact;

  bool is_data() const {
    return cause == Cause::write_back || cause == Cause::mapped || cause == Cause::outside;
  }
  bool operator==(const Dirty&) const = default;
};

// The bytes before a write that counts as stored because it queued the bio itself, and the first of
// the bio's links.
struct Assumed {
  Dirty before;
  std::size_t first_link;

  bool operator==(const Assumed&) const = default;
};

// A call in flight that reads or writes a known range.
struct Call {
  FactKind kind;
  std::uint64_t op_id;
  std::uint32_t pid;
  std::uint32_t file;
  std::uint64_t begin;     // of the range
  std::uint64_t end;       // of a read as requested, of a write as done
  std::uint64_t moved_end; // of the bytes that it moved; for a failed or unfinished read, `end`
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  RangeMap<bool> stored{}; // of a write: the parts known to be in the cache already
  // For a write: pages that became clean during it; true: because they were dropped. Its earlier
  // stores there are gone. A later store causes an event, unless another task makes the page dirty
  // again.
  RangeMap<bool> cleaned{};
  RangeMap<std::size_t>
      counted{}; // of these: parts already counted as written, and the first of their bio's links
  RangeMap<Assumed> assumed{}; // of `stored`: assumed, not confirmed by a page event
  bool is_contested = false;   // a part of a page that it writes was dropped during it
  bool is_placed = false;      // the position that it reads or writes is known
  std::uint64_t number = 0;    // sequence number of the call

  bool has_range() const { return begin < end; }
};

// The latest write-back of a file by a process.
struct Flush {
  std::uint32_t file;
  std::uint8_t reason; // as numbered in schema/values.def for writeback_reason
};

// The contents of a bio for a device that passes it on, such as a mapped one: the bio for the
// device below has the same.
struct Carried {
  std::uint64_t op_id;
  std::uint64_t stored_ns;
  std::uint32_t pid;
  std::uint32_t device;
  Cause cause;
  Confidence confidence;

  bool operator==(const Carried&) const = default;
};

// A read-ahead bio: its pages arrive together after its last byte, even if the device completes it
// in several requests.
struct AheadBio {
  std::uint64_t bytes_left; // not completed by a device yet
  std::uint64_t completed_ns = 0;
};

struct CachedFile {
  RangeMap<Dirty> dirty;
  // Dirty bytes of pages that became clean and then dirty again: the bio that took them is not
  // queued yet.
  RangeMap<Dirty> leaving;
  RangeMap<Carried> carried;                    // written last, to a device that is not a disk
  RangeMap<Carried> asked;                      // read last, from such a device
  RangeMap<std::size_t> ahead;                  // read ahead and not requested yet: the link
  std::map<std::uint64_t, std::uint64_t> calls; // in flight on it through the cache: op_id by begin
  std::uint64_t stored_ns = 0;                  // of the last store
  bool is_mapped = false;                       // unseen stores may reach it
  std::uint64_t doubtful_ns =
      UINT64_MAX; // from this time on, its dirty bytes and their owners are uncertain
};

// Pages of a file that came into the cache, and that no bio with a known range has brought.
struct AddedPages {
  std::uint32_t file = 0;
  RangeMap<bool> pages;
};

// A change that an operation made in a transaction of a journal; op_id 0: tasks that are not in the
// trace.
struct Change {
  std::uint64_t op_id;
  std::uint32_t pid;
  std::uint64_t blocks;
};

// A file system's device, and the number of the transaction there.
using TransactionKey = std::pair<std::uint32_t, std::uint64_t>;
inline constexpr std::uint64_t kMostBlocks =
    1U << 24U; // of a handle or a commit, so that sums do not wrap

struct Transaction {
  std::vector<Change> changes;
  std::uint64_t blocks = 0;  // of all of them
  std::uint64_t handles = 0; // number of changes by operations in the trace
};

// A commit under way. Its bytes are divided among the changes, in their order.
struct Commit {
  Transaction transaction;
  std::uint64_t end_ns = 0;
  std::uint64_t blocks_logged = 0;
  std::uint64_t bytes = 0;         // of all its blocks; 0: no block has been written
  std::uint64_t position = 0;      // bytes written
  std::size_t at = 0;              // the change with that position
  std::uint64_t blocks_before = 0; // of the changes before it
};

struct State {
  LossTimes losses;
  bool has_bios = false;         // the trace has bios
  bool has_cache_events = false; // a write records which clean pages it made dirty, and when
  bool has_evictions = false;    // pages that leave the cache are recorded
  std::unordered_set<std::uint32_t>
      written_back; // files with pages in bios: operations are kept only for these
  std::unordered_set<std::uint32_t> disks; // devices that complete requests; others pass bios on
  std::unordered_set<std::uint64_t>
      direct; // operations with bios of their own that bypass the cache
  std::vector<std::uint64_t>
      of_paths; // operations on paths that move no bytes of the program, sorted
  std::unordered_set<std::uint32_t> traced;         // processes in the trace; empty: all
  std::unordered_set<std::uint32_t> kernel_threads; // processes that are threads of the kernel
  std::unordered_map<std::uint32_t, std::uint32_t>
      disk_caches; // kernel-internal files with the pages of a disk: the disk
  std::unordered_set<std::uint32_t>
      of_metadata; // directories, and files with a file system's own metadata
  std::unordered_set<std::uint32_t> nodes; // files of block devices that programs open (/dev/sda)
  std::unordered_map<std::uint32_t, std::uint32_t>
      disk_nodes; // by disk: the file by which programs write to these pages (/dev/sda)
  std::unordered_map<std::uint32_t, std::uint32_t> file_systems; // by file: its device number
  std::unordered_set<std::uint32_t> on_disks; // those of these numbers that have a disk
  std::unordered_map<std::uint32_t, std::uint64_t> blocks_bytes; // by file system, if below a page
  std::unordered_set<std::uint32_t> dirty_files; // with dirty bytes of programs, and perhaps others
  std::unordered_map<std::uint64_t, AddedPages> added; // by operation, or by task outside of one
  std::vector<Link> links;
  std::vector<LateRead> late_reads;
  std::vector<AheadBio> ahead_bios; // by ahead_bio of their links

  std::unordered_map<std::uint64_t, Call> calls; // in flight, by op_id
  std::unordered_map<std::uint32_t, CachedFile> files;
  std::unordered_map<std::uint64_t, Fate> fates;    // by pid and file, see fate()
  std::unordered_map<std::uint64_t, Flush> flushes; // what a process currently writes back, by pid
  std::map<std::pair<std::uint32_t, std::uint32_t>, DeviceQueue> queues; // by device and operation

  std::map<TransactionKey, Transaction> transactions; // with changes, before their commit
  std::unordered_map<std::uint64_t, Commit> commits;  // the latest of each journal's thread, by pid

  std::unordered_set<std::uint64_t> checkpoints; // operations that wrote older transactions home
  std::uint64_t foreign_commit_until_ns = 0; // end of the commits with changes of untraced tasks

  // Calls in flight that make a file shorter, or a hole in it, by op_id.
  std::unordered_map<std::uint64_t, Fact> truncations;

  std::uint64_t looks = 0; // at entries of searched collections, except queues
  std::uint64_t all_looks() const;

  // The call in flight of this operation on this file; nullptr: none.
  Call* call_of(std::uint64_t op_id, std::uint64_t file);
  // The same. Otherwise, a call of the same process through the cache that overlaps the fact's
  // range, or has an unknown range. io_uring and libaio do their work inside any running call.
  Call* call_for(const Fact& fact, FactKind kind);
  // Whether the trace has everything that can have changed the dirty bytes of a file.
  bool is_sure_of(const CachedFile& file, std::uint64_t ts_ns) const;
  // The fact by which this operation currently makes a file shorter, or a hole in it; nullptr:
  // none.
  const Fact* truncation_of(std::uint64_t op_id) const;
  // Whether it has a path and passes no memory to the kernel: the file system writes the pages that
  // become dirty in it.
  bool is_of_path(std::uint64_t op_id) const;
  Fate& fate(std::uint32_t pid, std::uint32_t file);
  // The size of a block of its file system; at most a page.
  std::uint64_t block_bytes_of(std::uint32_t file) const;
  bool is_traced(std::uint64_t pid) const;
};

} // namespace iotrail::trail
