// SPDX-License-Identifier: BSD-3-Clause
//
// The collector's end of one place: reads its two rings, and finds out when its thread is gone.
#pragma once

#include <optional>

#include "capture/preload/arena_file.hpp"
#include "capture/preload/convert.hpp"

namespace iotrail::capture::preload {

class PlaceReader {
public:
  PlaceReader(ArenaFile& arena, io_u32 index);

  // Three steps, each for all places before the next: a record may refer to a file that another thread told of, and
  // was then written after that message. look() finds the records that are complete.
  void look();
  void read_text(Names& names);
  std::size_t read_records(const TickClock& clock, Names& names, store::TraceWriter& writer);

  // Passes over what will never be complete, because its writer is gone.
  void skip_torn();

  bool is_drained() const { return tail_ == end(); }
  bool has_torn() const { return complete_ == tail_ && tail_ != end(); }
  std::uint64_t torn() const { return torn_; }
  std::uint64_t reserved() const { return end(); }
  std::uint64_t lost() const;

  // No record at or beyond the present head counts any more.
  void close();

  // The owner may be somebody else afterwards.
  io_u64 owner() const;
  void free_place();

private:
  io_u64 end() const; // head, or where it was at close()
  io_u64 text_head() const;
  bool is_complete(io_u64 position) const;
  void copy_text(io_u64 cell, void* to, std::size_t size, std::size_t skip) const;
  void clear_text(io_u64 cells);

  Place& place_;
  io_u64& owner_;
  std::span<RawRecord> records_;
  std::span<std::byte> text_;
  io_u32 index_;
  io_u64 tail_ = 0;
  io_u64 complete_ = 0; // records before it are there
  io_u64 text_tail_ = 0;
  std::optional<io_u64> closed_head_;
  std::uint64_t closed_lost_ = 0;
  std::uint64_t torn_ = 0;
  PendingPaths paths_;
};

} // namespace iotrail::capture::preload
