// SPDX-License-Identifier: BSD-3-Clause
//
// What the engine does with each fact. A rule for bios splits one into parts that follow each other, each with a cause.
#pragma once

#include <cstdint>
#include <vector>

#include "trail/state/state.hpp"

namespace iotrail::trail {

// A part of a bio, `begin` bytes behind its own begin.
struct BioPart {
  std::uint64_t begin;
  std::uint64_t end;
  Cause cause;
  Confidence confidence = Confidence::exact;
  std::uint64_t op_id = 0;
  std::uint32_t pid = 0;
  std::uint64_t stored_ns = 0;
  std::uint64_t offset =
      kNoOffset; // in the file; kNoOffset: as far behind the bio's as the part behind its begin
  std::uint32_t file =
      0; // of the call, where the pages are those of a file in memory; 0: the bio's
  bool is_repeat = false; // of what a device above handed on
};
using BioParts = std::vector<BioPart>;

// rules/cache_pages.cpp: what is dirty.
void store_dirty_pages(State& state, const Fact& fact); // of cache_dirty
void store_rest_of_write(State& state, Call& call);     // at its end: what no cache_dirty told
// A file is cut at `begin`: some file systems write its last page back after they have filled the rest of it with zeroes, others before.
void doubt_tail(State& state, std::uint32_t file, std::uint64_t begin);
void drop_pages(State& state, std::uint32_t file, std::uint64_t begin, std::uint64_t end);
void store(State& state, std::uint32_t file, std::uint64_t begin, std::uint64_t end,
           const Dirty& dirty);

// rules/own_bio.cpp: a write that queued a bio of its range itself has stored its bytes, unless its clean pages say otherwise
// later: some file systems first have written back what lies there.
void assume_stored(State& state, Call& call, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t now_ns);
void take_assumption_back(State& state, Call& call, std::uint64_t begin);
// The same of a bio of somebody else that was taken for carrying what the write, then in flight, stored there: a later one may.
void take_guess_back(State& state, Call& call, std::uint64_t begin, std::uint64_t end);

// rules/write_back.cpp: a bio that carries pages of a file to the device.
BioParts charge_write_back(State& state, const Fact& bio);

// rules/handed_on.cpp: what a bio of a disk that is made of others took of a file's pages, or is to bring, for the bios of
// the same pages below. None: not known.
BioParts parts_from_above(const RangeMap<Carried>& carried, const Fact& bio);
void remember_for_below(RangeMap<Carried>& carried, const Fact& bio, const BioParts& parts);

// rules/disk_node.cpp: what programs write to a disk itself lies in pages of a file of the kernel's own, and its bios are of
// none: the same fact, of the node that the program has open. Others come back as they are.
Fact pages_of_node(State& state, const Fact& pages);
Fact bio_of_node(const State& state, const Fact& bio);

// rules/metadata.cpp: pages of directories, and of files in which a file system keeps metadata of its own. What is dirty of
// them is no data of a program; a bio of them is metadata for whoever its parts are charged to. Other bios' parts stay.
void store_dirty_metadata(State& state, const Fact& dirtied);
BioParts as_of_its_file(const State& state, const Fact& bio, BioParts parts);

// rules/direct.cpp: a bio that carries no pages of a file, or neither reads nor writes them.
BioParts charge_other(State& state, const Fact& bio);

// The same of direct I/O from or to memory that is a file's; none: it is something else.
BioParts charge_shared_memory(State& state, const Fact& bio);

// rules/read.cpp: a bio that brings pages of a file into the cache; and what a call then finds there.
BioParts charge_read(State& state, const Fact& bio);
void remember_read_ahead(State& state, const Link& link, std::size_t place);
void move_read_ahead(State& state, const Link& part, std::size_t from, std::size_t to);
void use_read_ahead(State& state, const Call& call);

// rules/request.cpp: a request that was put into a scheduler's queue; and one, or a part of it, that a device completed;
// and a bio that failed without one.
void insert_request(State& state, const Fact& request);
void complete_request(State& state, const Fact& request);
void fail_bio(State& state, const Fact& bio);

} // namespace iotrail::trail
