// SPDX-License-Identifier: BSD-3-Clause
//
// The collector's side of one place: reads its two rings, and detects the end of its thread. A
// traced program may write anything to them: each look copies the place's state once, and checks
// that it can follow from the last.
#pragma once

#include <optional>

#include "capture/preload/collector/arena_file.hpp"
#include "capture/preload/collector/convert.hpp"
#include "capture/preload/collector/owner_check.hpp"
#include "capture/tasks/tasks.hpp"

namespace iotrail::capture::preload {

class ThreadRingReader {
public:
  ThreadRingReader(ArenaFile& arena, iot_u32 index);

  // Three steps, each for all places before the next. A record may use a file that another thread
  // announced, and is then written after that message. look() finds the complete records.
  void look();
  void read_text(ArenaIds& ids);
  // Finds the owner's ids in the initial namespace. Until then read_records() leaves the records in
  // the ring, for a limited time. An owner that is not traced is a forged one.
  void identify(Tasks& tasks, OwnerCheck& check, std::uint64_t now_ns);
  std::size_t read_records(const TickClock& clock, ArenaIds& ids, DeferredFilter& deferred_filter,
                           store::TraceWriter& writer);

  // Skips records that will never be complete because their writer is gone.
  void skip_torn();

  // All its records are read, and their owner is known.
  bool is_drained() const { return tail_ == seen_.head && !is_waiting(); }
  bool has_torn() const { return complete_ == tail_ && tail_ != seen_.head; }
  bool is_waiting() const { return waits_until_ns_ != 0; }
  // produced() == records read + torn() + lost(), after all records before the end are read.
  std::uint64_t torn() const { return torn_; }
  std::uint64_t produced() const { return seen_.produced; }
  std::uint64_t lost() const { return seen_.lost; }
  std::uint64_t unknown() const {
    return unknown_;
  } // records written under the ids of their own namespace

  // Later calls do not count any more. Waits up to a time for calls between decision and record.
  void close(std::uint64_t until_ns);

  // The place may then have another owner.
  void free_place();

  // The library cannot have written this: the place and its rings are ignored from then on.
  bool is_overwritten() const { return is_overwritten_; }
  // Stops reading, and no thread can claim the place; records read so far count as all that were
  // produced.
  void stop_reading();

private:
  // State of a place at one look.
  struct Sight {
    iot_u64 head = 0;
    iot_u64 lost = 0;
    iot_u64 text_head = 0;
    iot_u64 claim = 0;
    iot_u64 pid_namespace = 0;
    iot_u64 outer_owner = 0;
    iot_u64 owner = 0;
    iot_u64 produced = 0;
    bool operator==(const Sight&) const = default;
  };
  enum class SlotState { complete, unfinished, overwritten };

  Sight sight() const;
  bool follows(const Sight& now, std::uint64_t elapsed_ns) const;
  bool is_same_owner(const Sight& now) const;
  bool take_sight();
  void give_up();
  SlotState slot_at(iot_u64 position) const;
  void give_back_records();
  // For a call between decision and record when its thread was killed.
  void count_cut_decisions();
  bool find_owner(Tasks& tasks, std::uint64_t now_ns);
  void know(const Task& task, bool is_known);
  void copy_text(iot_u64 cell, void* to, std::size_t size, std::size_t skip) const;
  void clear_text(iot_u64 cells);

  ThreadSlot& place_;
  iot_u64& owner_;
  std::span<RawRecord> records_;
  std::span<std::byte> text_;
  iot_u32 index_;
  iot_u64 tail_ = 0;
  iot_u64 complete_ = 0; // records before it are complete
  iot_u64 text_tail_ = 0;
  iot_u64 given_back_ = 0; // records before it; published to the place
  Sight seen_;
  std::uint64_t seen_ns_;
  bool is_closing_ = false; // threads take decisions back
  bool is_final_ = false;   // no more looks at the place: it is closed, or was overwritten
  bool is_overwritten_ = false;
  std::uint64_t torn_ = 0;
  std::uint64_t cut_decisions_ = 0; // part of the torn ones
  std::uint64_t unknown_ = 0;
  iot_u64 known_claim_ = 0; // the claim of `task_`
  Task task_;
  bool is_known_ = true;
  std::uint64_t waits_until_ns_ = 0; // for the owner to become known; 0: no wait
  Pending pending_;
};

} // namespace iotrail::capture::preload
