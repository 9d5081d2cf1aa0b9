// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/thread_ring_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "capture/preload/collector/arena_watch.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr iot_u64 kRecordsAtOnce = 8192; // of one place, before the others have their turn
constexpr iot_u64 kGiveBackEvery = 256;  // records; each time costs the thread a read of the tail
constexpr iot_u64 kHandlersNestedMost =
    64; // signal handlers that can have interrupted each other in a call
constexpr iot_u32 kThreadsMost = 1U << 22U; // task ids are smaller than PID_MAX_LIMIT

bool is_thread(iot_u64 owner) {
  return pid_of(owner) - 1 < kThreadsMost && tid_of(owner) - 1 < kThreadsMost;
}

// False: the library did not write this.
bool is_message(const TextHeader& header, iot_u64 cells_there) {
  const iot_u64 cells = (sizeof(header) + iot_u64{header.bytes} + kCellBytes - 1) / kCellBytes;
  return header.cells == cells && cells <= cells_there &&
         header.kind >= static_cast<iot_u16>(TextKind::path) &&
         header.kind <= static_cast<iot_u16>(TextKind::preload_blocker);
}

} // namespace

ThreadRingReader::ThreadRingReader(ArenaFile& arena, iot_u32 index)
    : place_(arena.places()[index]), owner_(arena.owners()[index]), records_(arena.records(index)),
      text_(arena.text(index)), index_(index), seen_ns_(arena.made_ns()) {}

// Reads the fields in the reverse order of their writing: later counts first, and a claim's data
// after the claim.
ThreadRingReader::Sight ThreadRingReader::sight() const {
  const auto load = [](const iot_u64& from) { return __atomic_load_n(&from, __ATOMIC_ACQUIRE); };
  Sight now;
  now.head = load(place_.records.head);
  now.lost = load(place_.records.lost[IOT_LAYER_app - 1]);
  now.text_head = load(place_.text_head);
  now.claim = load(place_.claim);
  now.pid_namespace = load(place_.pid_namespace);
  now.outer_owner = load(place_.outer_owner);
  now.owner = load(owner_);
  now.produced = load(place_.produced);
  return now;
}

bool ThreadRingReader::is_same_owner(const Sight& now) const {
  return (now.owner | kOwnerReleased) == (seen_.owner | kOwnerReleased) &&
         now.pid_namespace == seen_.pid_namespace && now.outer_owner == seen_.outer_owner;
}

bool ThreadRingReader::follows(const Sight& now, std::uint64_t elapsed_ns) const {
  const bool is_in_rings = now.head >= seen_.head && now.head - tail_ <= records_.size() &&
                           now.text_head >= seen_.text_head &&
                           now.text_head - text_tail_ <= text_.size() / kCellBytes &&
                           place_.records.tail == given_back_ && place_.text_tail == text_tail_;
  const bool is_counted = may_have_grown(seen_.lost, now.lost, elapsed_ns) &&
                          (is_closing_ || may_have_grown(seen_.produced, now.produced, elapsed_ns));
  // Threads that share a place without the C library's knowledge may miscount slightly.
  const iot_u64 apart = now.produced - now.head - now.lost - cut_decisions_ + records_.size();
  const bool adds_up = apart <= 2 * records_.size();
  const bool is_claimed = now.claim == 0 ? seen_.claim == 0 && now.head == seen_.head &&
                                               now.text_head == seen_.text_head
                          : now.claim == seen_.claim ? is_same_owner(now)
                                                     : seen_.claim == 0 && is_thread(now.owner);
  return is_in_rings && is_counted && adds_up && is_claimed;
}

// False: the place was overwritten.
bool ThreadRingReader::take_sight() {
  const std::uint64_t begin_ns = monotonic_ns();
  const Sight now = sight();
  if (now != seen_ && !follows(now, monotonic_ns() - seen_ns_)) {
    give_up();
    return false;
  }
  seen_ = now;
  seen_ns_ = begin_ns;
  return true;
}

void ThreadRingReader::stop_reading() {
  is_final_ = true;
  complete_ = tail_;
  seen_.head = tail_;
  seen_.text_head = text_tail_;
  seen_.produced = tail_ + seen_.lost + cut_decisions_;
  waits_until_ns_ = 0;
  pending_ = {};
  __atomic_fetch_or(&owner_, kOwnerReleased, __ATOMIC_RELAXED); // not claimable, so not free
}

void ThreadRingReader::give_up() {
  is_overwritten_ = true;
  stop_reading();
}

// A slot without its record has the mark of an earlier record, if any.
ThreadRingReader::SlotState ThreadRingReader::slot_at(iot_u64 position) const {
  const RawRecord& record = records_[position & (records_.size() - 1)];
  const iot_u32 tag = __atomic_load_n(&record.tag, __ATOMIC_ACQUIRE);
  const auto mark = static_cast<iot_u32>(position + 1);
  if (tag == mark)
    return SlotState::complete;
  return tag == 0 || ((mark - tag) & (records_.size() - 1)) == 0 ? SlotState::unfinished
                                                                 : SlotState::overwritten;
}

void ThreadRingReader::look() {
  if (!is_final_ && !take_sight())
    return;
  const iot_u64 limit = std::min(seen_.head, tail_ + kRecordsAtOnce);
  while (complete_ < limit && slot_at(complete_) == SlotState::complete)
    ++complete_;
  if (complete_ < limit && slot_at(complete_) == SlotState::overwritten)
    give_up();
}

void ThreadRingReader::give_back_records() {
  given_back_ = tail_;
  __atomic_store_n(&place_.records.tail, tail_, __ATOMIC_RELEASE);
}

std::size_t ThreadRingReader::read_records(const TickClock& clock, ArenaIds& ids,
                                           DeferredFilter& deferred_filter,
                                           store::TraceWriter& writer) {
  const iot_u64 begin = tail_;
  if (known_claim_ == 0)
    return 0;
  const std::uint64_t is_unknown = is_known_ ? 0 : 1;
  Origin origin{index_, 0, task_.pid, task_.tid};
  while (tail_ != complete_) {
    const RawRecord record = records_[tail_ & (records_.size() - 1)];
    origin.position = tail_;
    if (!convert(record, origin, clock, ids, pending_.paths, deferred_filter, writer)) {
      give_up();
      break;
    }
    ++tail_;
    unknown_ += is_unknown;
    if (tail_ % kGiveBackEvery == 0 || tail_ == complete_)
      give_back_records();
  }
  return tail_ - begin;
}

void ThreadRingReader::copy_text(iot_u64 cell, void* to, std::size_t size, std::size_t skip) const {
  const std::size_t at = (cell * kCellBytes + skip) & (text_.size() - 1);
  const std::size_t first = std::min(size, text_.size() - at);
  std::memcpy(to, text_.data() + at, first);
  std::memcpy(static_cast<std::byte*>(to) + first, text_.data(), size - first);
}

void ThreadRingReader::clear_text(iot_u64 cells) {
  const std::size_t at = (text_tail_ * kCellBytes) & (text_.size() - 1);
  const std::size_t size = cells * kCellBytes;
  const std::size_t first = std::min(size, text_.size() - at);
  std::memset(text_.data() + at, 0, first);
  std::memset(text_.data(), 0, size - first);
  text_tail_ += cells;
  __atomic_store_n(&place_.text_tail, text_tail_, __ATOMIC_RELEASE);
}

void ThreadRingReader::read_text(ArenaIds& ids) {
  std::string text;
  while (text_tail_ < seen_.text_head) {
    TextHeader header;
    const auto* const mark = reinterpret_cast<const iot_u32*>(
        text_.data() + ((text_tail_ * kCellBytes) & (text_.size() - 1)));
    const iot_u32 committed = __atomic_load_n(mark, __ATOMIC_ACQUIRE);
    if (committed == 0)
      return;
    copy_text(text_tail_, &header, sizeof(header), 0);
    if (committed != 1 || !is_message(header, seen_.text_head - text_tail_))
      return give_up();
    text.resize(header.bytes);
    copy_text(text_tail_, text.data(), text.size(), sizeof(header));
    ids.accept(header, text, static_cast<iot_u32>(text_tail_ + 1), pending_);
    clear_text(header.cells);
  }
}

void ThreadRingReader::skip_torn() {
  while (complete_ == tail_ && tail_ < seen_.head && slot_at(tail_) == SlotState::unfinished) {
    ++torn_;
    complete_ = ++tail_;
  }
  give_back_records();
}

void ThreadRingReader::close(std::uint64_t until_ns) {
  is_closing_ = true;
  if (is_final_ || !take_sight())
    return;
  iot_u64 decided = seen_.produced;
  while (seen_.head + seen_.lost + cut_decisions_ < decided && monotonic_ns() < until_ns) {
    usleep(100);
    if (!take_sight())
      return;
    // A thread that finds the recording closed takes its decision back.
    decided = std::min(decided, seen_.produced);
  }
  is_final_ = true;
  seen_.produced = decided;
  const iot_u64 accounted = seen_.lost + cut_decisions_;
  seen_.head = decided > accounted ? std::clamp(decided - accounted, tail_, seen_.head) : tail_;
  complete_ = std::min(complete_, seen_.head);
  count_cut_decisions();
  // Reads the records that are there; others that were counted are unknown.
  const iot_u64 found = seen_.head + seen_.lost + cut_decisions_;
  is_overwritten_ = found < seen_.produced;
  seen_.produced = found;
}

void ThreadRingReader::count_cut_decisions() {
  const iot_u64 accounted = seen_.head + seen_.lost + cut_decisions_;
  const bool ended_by_itself = seen_.owner == 0 || (seen_.owner & kOwnerReleased) != 0;
  if (ended_by_itself || seen_.produced <= accounted ||
      seen_.produced - accounted > kHandlersNestedMost)
    return;
  torn_ += seen_.produced - accounted;
  cut_decisions_ += seen_.produced - accounted;
}

void ThreadRingReader::know(const Task& task, bool is_known) {
  task_ = task;
  is_known_ = is_known;
  waits_until_ns_ = 0;
}

// Whether `task_` is known to be the owner.
bool ThreadRingReader::find_owner(Tasks& tasks, std::uint64_t now_ns) {
  const iot_u64 own = seen_.owner & ~kOwnerReleased;
  const iot_u64 pid_namespace = seen_.pid_namespace;
  const bool is_ours = pid_namespace == 0 || pid_namespace == tasks.pid_namespace();
  iot_u64 outer = seen_.outer_owner;
  if (outer == 0 && is_ours)
    outer = own;
  const NamespaceTask inside{pid_namespace, pid_of(own), tid_of(own)};
  if (outer != 0 && tasks.counts_like_proc()) {
    know({pid_of(outer), tid_of(outer), 0}, true);
  } else if (const auto task = tasks.find(inside, now_ns)) {
    know(*task, true);
    if (tasks.counts_like_proc()) {
      seen_.outer_owner =
          owner_of(static_cast<iot_s32>(task->pid), static_cast<iot_s32>(task->tid));
      __atomic_store_n(&place_.outer_owner, seen_.outer_owner, __ATOMIC_RELAXED);
    }
  } else if (waits_until_ns_ == 0) {
    waits_until_ns_ = now_ns + kTaskPatienceNs;
    return false;
  } else if (now_ns < waits_until_ns_) {
    return false;
  } else if (const auto last = tasks.last_known(inside)) {
    know(*last, true);
  } else {
    know({inside.pid, inside.tid, 0}, false);
  }
  if (!is_ours && pending_.process)
    pending_.process->parent_pid = 0; // ids of another namespace are useless here
  return true;
}

void ThreadRingReader::identify(Tasks& tasks, OwnerCheck& check, std::uint64_t now_ns) {
  if (seen_.claim == 0 || (seen_.claim != known_claim_ && !find_owner(tasks, now_ns)))
    return;
  const bool is_new = std::exchange(known_claim_, seen_.claim) != seen_.claim;
  if (is_new && is_known_ && tasks.counts_like_proc() && !tasks.follows(task_.pid) &&
      !check.may_own(task_.pid, now_ns))
    return give_up();
  for (; pending_.blockers > 0; --pending_.blockers)
    tasks.unseen().note_reported(task_.pid);
  if (!pending_.process)
    return;
  pending_.process->pid = task_.pid;
  tasks.note_announcement(std::move(*pending_.process), is_known_, now_ns);
  pending_.process.reset();
}

void ThreadRingReader::free_place() {
  if (is_final_)
    return;
  count_cut_decisions();
  clear_text(seen_.text_head - text_tail_); // a message that its writer did not finish
  pending_ = {};
  known_claim_ = 0;
  waits_until_ns_ = 0;
  seen_.claim = seen_.pid_namespace = seen_.outer_owner = seen_.owner = 0;
  __atomic_store_n(&place_.claim, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&place_.pid_namespace, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&place_.outer_owner, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&owner_, 0, __ATOMIC_RELEASE);
}

} // namespace iotrail::capture::preload
