// SPDX-License-Identifier: BSD-3-Clause
//
// What the engine knows at a moment of a trace: what each file has dirty or read ahead, which calls, bios and requests are in
// flight, and the links found so far. The rules (rules/) read and change it, the driver (replay.hpp) keeps the calls in it.
// Not for several threads at once.
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

// What lay where a write is taken for stored because it queued the bio itself, and the first of the bio's links.
struct Assumed {
  Dirty before;
  std::size_t first_link;

  bool operator==(const Assumed&) const = default;
};

// A call that reads or writes a known range, from its begin to its end.
struct Call {
  FactKind kind;
  std::uint64_t op_id;
  std::uint32_t pid;
  std::uint32_t file;
  std::uint64_t begin; // of the range
  std::uint64_t end;   // of a read as asked for, of a write as done
  std::uint64_t
      moved_end; // of the bytes that it moved; of a read that failed or did not end, as `end`
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  RangeMap<bool> stored{}; // of a write: the parts that are known to be in the cache already
  // Likewise: pages that became clean in its course, true: since they were given up. What it stored there before is gone, what
  // it stores afterwards is told, unless somebody else makes the page dirty again.
  RangeMap<bool> cleaned{};
  RangeMap<std::size_t>
      counted{}; // of these: parts that are counted as written all the same, and the first of their bio's links
  RangeMap<Assumed> assumed{}; // of `stored`: no page has said so
  bool is_contested = false;   // a part of a page that it writes was given up in its course
  bool is_placed = false;      // where it reads or writes is known
  std::uint64_t number = 0;    // of the calls that began, this is which

  bool has_range() const { return begin < end; }
};

// The writing back of a file that a process began last.
struct Flush {
  std::uint32_t file;
  std::uint8_t reason; // as schema/values.def numbers writeback_reason
};

// What a bio took to a device that hands it on, or asked of it, such as a mapped one: the bio for the device below has the same.
struct Carried {
  std::uint64_t op_id;
  std::uint64_t stored_ns;
  std::uint32_t pid;
  std::uint32_t device;
  Cause cause;
  Confidence confidence;

  bool operator==(const Carried&) const = default;
};

// A bio that reads ahead: none of its pages is there before all of it is, in however many requests the device completes it.
struct AheadBio {
  std::uint64_t bytes_left; // that no device has completed yet
  std::uint64_t completed_ns = 0;
};

struct CachedFile {
  RangeMap<Dirty> dirty;
  // Was dirty on pages that became clean and dirty once more: the bio that has cleaned them is still to come.
  RangeMap<Dirty> leaving;
  RangeMap<Carried> carried;   // last, to a device that is no disk
  RangeMap<Carried> asked;     // likewise, of one
  RangeMap<std::size_t> ahead; // read ahead and not yet asked for: the link
  std::map<std::uint64_t, std::uint64_t>
      calls;              // in flight on it through the cache: op_id by when they began
  bool is_mapped = false; // so that stores that nobody sees may reach it
  std::uint64_t doubtful_ns =
      UINT64_MAX; // from then on it is not sure what of it is dirty, and whose it is
};

struct State {
  LossTimes losses;
  bool has_cache_events = false; // a write tells which clean pages it made dirty, and when
  bool has_evictions = false;    // pages that leave the cache are told
  std::unordered_set<std::uint32_t>
      written_back; // files of which bios carry pages: of others, no operations are kept
  std::unordered_set<std::uint32_t> disks;  // devices that complete requests: others hand bios on
  std::unordered_set<std::uint64_t> direct; // operations that have bios of their own past the cache
  std::vector<std::uint64_t>
      of_paths; // operations that name paths and move no bytes of the program's, sorted
  std::unordered_set<std::uint32_t> traced; // processes that the trace knows; empty: all
  std::unordered_map<std::uint32_t, std::uint32_t>
      disk_caches; // files of the kernel's own that hold the pages of a disk: the disk
  std::unordered_set<std::uint32_t>
      of_metadata; // directories, and files in which a file system keeps metadata of its own
  std::unordered_set<std::uint32_t> nodes; // files of block devices that programs open (/dev/sda)
  std::unordered_map<std::uint32_t, std::uint32_t>
      disk_nodes; // by disk: the file by which programs write to these pages (/dev/sda)
  std::vector<Link> links;
  std::vector<LateRead> late_reads;
  std::vector<AheadBio> ahead_bios; // by ahead_bio of their links

  std::unordered_map<std::uint64_t, Call> calls; // in flight, by op_id
  std::unordered_map<std::uint32_t, CachedFile> files;
  std::unordered_map<std::uint64_t, Fate> fates; // by pid and file, see fate()
  std::unordered_map<std::uint64_t, Flush>
      flushes; // what a process writes back at the moment, by pid
  std::map<std::pair<std::uint32_t, std::uint32_t>, DeviceQueue> queues; // by device and operation

  // Calls in flight that make a file shorter, or a hole in it, by op_id.
  std::unordered_map<std::uint64_t, Fact> truncations;

  std::uint64_t looks = 0; // at entries of what is looked through, but for queues
  std::uint64_t all_looks() const;

  // The call in flight under this operation on this file; nullptr: none.
  Call* call_of(std::uint64_t op_id, std::uint64_t file);
  // The same. Else a call of the same process through the cache that overlaps the fact's range, or has an unknown range:
  // io_uring and libaio do their work inside whatever call runs.
  Call* call_for(const Fact& fact, FactKind kind);
  // Whether the trace has everything that can have changed what is dirty of a file.
  bool is_sure_of(const CachedFile& file, std::uint64_t ts_ns) const;
  // The fact by which this operation makes a file shorter, or a hole in it, at the moment; nullptr: it does not.
  const Fact* truncation_of(std::uint64_t op_id) const;
  // Whether it names a path, and hands no memory to the kernel: the file system writes what becomes dirty in it.
  bool is_of_path(std::uint64_t op_id) const;
  Fate& fate(std::uint32_t pid, std::uint32_t file);
  bool is_traced(std::uint64_t pid) const;
};

} // namespace iotrail::trail
