// SPDX-License-Identifier: BSD-3-Clause
//
// The collector's end of one place: reads its two rings, and finds out when its thread is gone. A traced program may have
// written anything to them: what the place says is copied once for each look, and must follow from the last.
#pragma once

#include <optional>

#include "capture/preload/collector/arena_file.hpp"
#include "capture/preload/collector/convert.hpp"
#include "capture/tasks/tasks.hpp"

namespace iotrail::capture::preload {

class PlaceReader {
public:
  PlaceReader(ArenaFile& arena, iot_u32 index);

  // Three steps, each for all places before the next: a record may refer to a file that another thread told of, and
  // was then written after that message. look() finds the records that are complete.
  void look();
  void read_text(ArenaIds& ids);
  // Finds out who the owner is to others; until then read_records() leaves the records where they are, for a bounded
  // time.
  void identify(Tasks& tasks, std::uint64_t now_ns);
  std::size_t read_records(const TickClock& clock, ArenaIds& ids, HoldBack& hold_back,
                           store::TraceWriter& writer);

  // Passes over what will never be complete, because its writer is gone.
  void skip_torn();

  // Its records are read, and it is known whose they and its announcement are.
  bool is_drained() const { return tail_ == seen_.head && !is_waiting(); }
  bool has_torn() const { return complete_ == tail_ && tail_ != seen_.head; }
  bool is_waiting() const { return waits_until_ns_ != 0; }
  // produced() == records read + torn() + lost(), once all that came before the end is read.
  std::uint64_t torn() const { return torn_; }
  std::uint64_t produced() const { return seen_.produced; }
  std::uint64_t lost() const { return seen_.lost; }
  std::uint64_t unknown() const {
    return unknown_;
  } // records written under the ids of their own namespace

  // No call that is decided on from now on counts any more. Waits, up to a time, for those between decision and record.
  void close(std::uint64_t until_ns);

  // The owner may be somebody else afterwards.
  void free_place();

  // The place or its rings hold what no library writes: they are left alone from then on.
  bool is_overwritten() const { return is_overwritten_; }
  // Nothing is read any more, and nobody claims the place; what was read up to now is all that was produced.
  void stop_reading();

private:
  // What the place said at one look.
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
  // Of a call that its thread was killed in, between decision and record.
  void count_cut_decisions();
  bool find_owner(Tasks& tasks, std::uint64_t now_ns);
  void know(const Task& task, bool is_known);
  void copy_text(iot_u64 cell, void* to, std::size_t size, std::size_t skip) const;
  void clear_text(iot_u64 cells);

  ArenaPlace& place_;
  iot_u64& owner_;
  std::span<RawRecord> records_;
  std::span<std::byte> text_;
  iot_u32 index_;
  iot_u64 tail_ = 0;
  iot_u64 complete_ = 0; // records before it are there
  iot_u64 text_tail_ = 0;
  iot_u64 given_back_ = 0; // records before it, as the place was told
  Sight seen_;
  std::uint64_t seen_ns_;
  bool is_closing_ = false; // threads take decisions back
  bool is_final_ = false;   // no more looks at the place: it is closed, or was overwritten
  bool is_overwritten_ = false;
  std::uint64_t torn_ = 0;
  std::uint64_t cut_decisions_ = 0; // among those torn
  std::uint64_t unknown_ = 0;
  iot_u64 known_claim_ = 0; // whose owner is `task_`
  Task task_;
  bool is_known_ = true;
  std::uint64_t waits_until_ns_ = 0; // for the owner to become known; 0: it does not wait
  Pending pending_;
};

} // namespace iotrail::capture::preload
