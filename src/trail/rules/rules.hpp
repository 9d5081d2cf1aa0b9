// SPDX-License-Identifier: BSD-3-Clause
//
// The engine's rules for each fact. A rule for bios splits one into consecutive parts, each with a
// cause.
#pragma once

#include <cstdint>
#include <vector>

#include "trail/state/state.hpp"

namespace iotrail::trail {

// A part of a bio; `begin` and `end` count from the bio's begin.
struct BioPart {
  std::uint64_t begin;
  std::uint64_t end;
  Cause cause;
  Confidence confidence = Confidence::exact;
  std::uint64_t op_id = 0;
  std::uint32_t pid = 0;
  std::uint64_t stored_ns = 0;
  std::uint64_t offset =
      kNoOffset;          // position in the file; kNoOffset: the bio's position plus `begin`
  std::uint32_t file = 0; // of the call, if the pages belong to a file in memory; 0: the bio's
  bool is_repeat = false; // of a bio of the device above
  std::uint64_t plain_bytes = 0; // as in Link
};
using BioParts = std::vector<BioPart>;

// amount * part / whole, rounded down; `whole` is not 0.
inline std::uint64_t in_proportion(std::uint64_t amount, std::uint64_t part, std::uint64_t whole) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(amount) * part / whole);
}

// rules/cache_pages.cpp: dirty pages.
void store_dirty_pages(State& state, const Fact& fact); // for cache_dirty
void store_rest_of_write(State& state, Call& call);     // at its end: without a cache_dirty
void store_rest_of_copy(State& state, const Call& call);
// A file is cut at `begin`: some file systems fill the rest of the last page with zeroes before
// they write it back, others after.
void doubt_tail(State& state, std::uint32_t file, std::uint64_t begin);
void drop_pages(State& state, std::uint32_t file, std::uint64_t begin, std::uint64_t end);
void store(State& state, std::uint32_t file, std::uint64_t begin, std::uint64_t end,
           const Dirty& dirty);

// rules/own_bio.cpp: a write that itself queued a bio of its range counts as having stored its
// bytes. Clean pages may later disprove that: some file systems first write back what lies there.
void assume_stored(State& state, Call& call, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t now_ns);
void take_assumption_back(State& state, Call& call, std::uint64_t begin);
// The same for a bio of another task that counted as carrying the stores of a write in flight: a
// later bio may carry them.
void take_guess_back(State& state, Call& call, std::uint64_t begin, std::uint64_t end);

// rules/write_back.cpp: a bio that carries pages of a file to the device.
BioParts charge_write_back(State& state, const Fact& bio);

// rules/compressed.cpp: the same for a bio with the compressed bytes of a range of a file.
BioParts charge_compressed(State& state, const Fact& bio);
// The parts of a range of a file, as shares of a bio with the compressed bytes of that range.
BioParts shares_of(const BioParts& parts, std::uint64_t range_bytes, std::uint64_t bio_bytes);

// rules/decompressed.cpp: a bio that reads compressed bytes of a file, and pages that came into the
// cache.
BioParts charge_decompressed(State& state, const Fact& bio);
void note_added(State& state, const Fact& added);

// rules/inlined.cpp: a sync has ended without an error.
void end_sync(State& state, const Fact& sync);

// rules/handed_on.cpp: the parts of a bio of a stacked disk, remembered for the bios of the same
// pages below. Empty: unknown.
BioParts parts_from_above(const RangeMap<Carried>& carried, const Fact& bio);
void remember_for_below(RangeMap<Carried>& carried, const Fact& bio, const BioParts& parts);

// rules/disk_node.cpp: bytes that programs write to a disk itself are in pages of a kernel-internal
// file, and its bios have no file. Returns the same fact for the node that the program has open;
// other facts unchanged.
Fact pages_of_node(State& state, const Fact& pages);
Fact bio_of_node(const State& state, const Fact& bio);

// rules/metadata.cpp: pages of directories, and of files in which a file system keeps its own
// metadata. Their dirty bytes are no data of a program. A bio of them is metadata, attributed to
// the owners of its parts. Parts of other bios stay unchanged.
void store_dirty_metadata(State& state, const Fact& dirtied);
BioParts as_of_its_file(const State& state, const Fact& bio, BioParts parts);

// rules/journal.cpp: a change in a transaction of a journal, the begin of its commit, and the parts
// of a bio with metadata that the journal's thread writes meanwhile. Empty: another bio, or no
// operation in the trace made a change.
void join_transaction(State& state, const Fact& handle);
void begin_commit(State& state, const Fact& commit);
BioParts shares_of_commit(State& state, const Fact& bio);
// Whether metadata that an operation writes may hold changes of others: the journal's blocks while a
// commit with changes of untraced tasks is under way, and those of older transactions.
bool holds_changes_of_others(const State& state, const Fact& bio);

// rules/direct.cpp: a bio without pages of a file, or one that neither reads nor writes them.
BioParts charge_other(State& state, const Fact& bio);

// The same for direct I/O with memory that belongs to a file; empty: another kind of bio.
BioParts charge_shared_memory(State& state, const Fact& bio);

// rules/read.cpp: a bio that reads pages of a file into the cache, and the use of these pages by
// later calls.
BioParts charge_read(State& state, const Fact& bio);
void remember_read_ahead(State& state, const Link& link, std::size_t place);
void move_read_ahead(State& state, const Link& part, std::size_t from, std::size_t to);
void use_read_ahead(State& state, const Call& call);

// rules/request.cpp: a request put into a scheduler's queue, a request completed in full or in
// part, and a bio that failed without a request.
void insert_request(State& state, const Fact& request);
void complete_request(State& state, const Fact& request);
void fail_bio(State& state, const Fact& bio);

} // namespace iotrail::trail
