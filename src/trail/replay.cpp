// SPDX-License-Identifier: BSD-3-Clause
#include "trail/replay.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "schema.hpp"
#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

bool has_pages(const Fact& bio, std::uint8_t operation) {
  return bio.operation() == operation && bio.file != 0 && bio.offset < kFarthest;
}

bool is_open(const Fact& call) {
  return static_cast<std::int64_t>(call.result) == IOT_UNFINISHED;
}

BioParts charge(State& state, const Fact& bio) {
  if (bio.io_class == IOT_io_class_compressed && bio.operation() == IOT_block_read)
    return charge_decompressed(state, bio);
  if (bio.offset < kFarthest)
    if (BioParts parts = charge_shared_memory(state, bio); !parts.empty())
      return parts;
  if (has_pages(bio, IOT_block_write) && bio.range_bytes != 0)
    return charge_compressed(state, bio);
  if (has_pages(bio, IOT_block_write))
    return as_of_its_file(state, bio, charge_write_back(state, bio));
  if (has_pages(bio, IOT_block_read))
    return as_of_its_file(state, bio, charge_read(state, bio));
  return charge_other(state, bio);
}

// The trigger of write-back for a bio's pages: the operation that queued it, if any.
std::uint8_t find_reason(const State& state, const Fact& bio) {
  if (bio.op_id != 0)
    return IOT_writeback_reason_call;
  if (bio.ts_ns >= state.losses.pages_ns) // a missing event may have begun another flush
    return IOT_writeback_reason_unknown;
  const auto flush = state.flushes.find(bio.pid);
  return flush != state.flushes.end() && flush->second.file == bio.file
             ? flush->second.reason
             : std::uint8_t{IOT_writeback_reason_unknown};
}

Link link_of(const Fact& bio, const BioPart& part, std::uint64_t place) {
  Link link;
  link.queued_ns = bio.ts_ns;
  link.stored_ns = part.stored_ns;
  link.op_id = part.op_id;
  link.by_op = bio.op_id;
  link.begin = place + part.begin;
  link.offset = part.offset;
  if (part.offset == kNoOffset && part.file == 0 && bio.offset < kFarthest)
    link.offset = bio.offset + part.begin;
  link.bytes = part.end - part.begin;
  link.plain_bytes = part.plain_bytes;
  link.pid = part.pid;
  link.by_pid = static_cast<std::uint32_t>(bio.pid);
  link.file = part.file ? part.file : static_cast<std::uint32_t>(bio.file);
  link.device = static_cast<std::uint32_t>(bio.device);
  link.operation = bio.operation();
  link.is_repeat = part.is_repeat;
  link.cause = part.cause;
  link.confidence = part.confidence;
  return link;
}

void queue_bio(State& state, const Fact& bio) {
  if (bio.bytes == 0) // a flush
    return;
  const std::uint64_t place = std::min(bio.sector, kFarthest / kSectorBytes) * kSectorBytes;
  const std::uint8_t reason =
      has_pages(bio, IOT_block_write) ? find_reason(state, bio) : kNotWrittenBack;
  const BioParts charged = charge(state, bio);
  std::size_t ahead_bio = kNotAhead;
  if (std::ranges::find(charged, Cause::read_ahead, &BioPart::cause) != charged.end()) {
    ahead_bio = state.ahead_bios.size();
    state.ahead_bios.push_back({.bytes_left = bio.bytes});
  }
  std::vector<QueuedPart> parts;
  for (const BioPart& part : charged) {
    const std::size_t link = state.links.size();
    state.links.push_back(link_of(bio, part, place));
    state.links.back().reason = reason;
    state.links.back().ahead_bio = ahead_bio;
    parts.push_back({.begin = place + part.begin,
                     .bytes = part.end - part.begin,
                     .link = link,
                     .queued_ns = bio.ts_ns});
    if (part.cause == Cause::read_ahead)
      remember_read_ahead(state, state.links.back(), link);
  }
  state.queues[{static_cast<std::uint32_t>(bio.device), bio.operation()}].queue(std::move(parts));
}

} // namespace

// It is unknown how much an unfinished write had stored when the recording ended. The same holds
// for an operation with a suppressed completion; for some even the position is unknown.
bool Replay::may_have_stored_more(const Fact& call) const {
  return call.kind == FactKind::write && is_open(call) && !direct.contains(call.op_id) &&
         (call.file == 0 || nodes.contains(static_cast<std::uint32_t>(call.file)) ||
          written_back.contains(static_cast<std::uint32_t>(call.file)));
}

// Marks the file as doubtful, because the call's effect on it is only partly known. An unknown file
// makes all files doubtful. The pages of a disk belong to all of its nodes.
void Replay::note_doubt(const Fact& call) {
  const auto file = static_cast<std::uint32_t>(call.file);
  if (file == 0 || nodes.contains(file))
    return losses.note(IOT_LAYER_syscall, call.ts_ns);
  std::uint64_t& doubtful_ns = files[file].doubtful_ns;
  doubtful_ns = std::min(doubtful_ns, call.ts_ns);
}

void Replay::take_over(std::uint32_t below, std::uint32_t above) {
  const auto lower = files.find(below);
  if (lower == files.end())
    return;
  const std::uint64_t doubtful_ns = lower->second.doubtful_ns;
  RangeMap<Dirty> dirty;
  lower->second.dirty.take(0, UINT64_MAX,
                           [&](std::uint64_t begin, std::uint64_t end, const Dirty& entry) {
                             dirty.put(begin, end, entry);
                           });
  files[above].doubtful_ns = std::min(files[above].doubtful_ns, doubtful_ns);
  dirty.visit(0, UINT64_MAX, [&](std::uint64_t begin, std::uint64_t end, const Dirty& entry) {
    if (!entry.is_data()) {
      files[above].dirty.fill(begin, end, entry);
      return;
    }
    Fate& lower_fate = fate(entry.pid, below);
    lower_fate.written -= end - begin;
    if (entry.cause == Cause::mapped)
      lower_fate.mapped -= end - begin;
    if (entry.cause == Cause::outside)
      lower_fate.outside -= end - begin;
    store(*this, above, begin, end, entry);
  });
}

// An unknown range is empty.
void Replay::begin_call(const Fact& fact) {
  if (may_have_stored_more(fact))
    note_doubt(fact);
  if (fact.op_id == 0 || fact.file == 0)
    return;
  // A suppressed completion (CQE_SKIP_SUCCESS) leaves the end unknown: the duration comes from its
  // bios.
  const bool is_silent = is_open(fact) && fact.duration_ns == 0 &&
                         (fact.kind == FactKind::write || direct.contains(fact.op_id));
  Call call{fact.kind,
            fact.op_id,
            static_cast<std::uint32_t>(fact.pid),
            static_cast<std::uint32_t>(fact.file),
            0,
            0,
            0,
            fact.ts_ns,
            is_silent ? UINT64_MAX : fact.end_ns()};
  call.number = ++calls_begun_;
  if (fact.offset < kFarthest) {
    call.is_placed = true;
    call.begin = fact.offset;
    call.end =
        fact.offset + std::min(fact.kind == FactKind::read ? fact.bytes : fact.moved(), kFarthest);
    const bool is_known = static_cast<std::int64_t>(fact.result) >= 0; // 0: at the end of the file
    call.moved_end = is_known ? std::min(call.end, fact.offset + fact.moved()) : call.end;
  }
  end_call(fact.op_id);
  if (!is_silent && !direct.contains(call.op_id))
    files[call.file].calls.emplace(call.number, call.op_id);
  ends_.emplace(call.end_ns, call.op_id);
  calls.emplace(call.op_id, std::move(call));
}

void Replay::end_call(std::uint64_t op_id) {
  const auto found = calls.find(op_id);
  if (found == calls.end())
    return;
  Call& call = found->second;
  if (call.kind == FactKind::read)
    use_read_ahead(*this, call);
  else if (call.kind == FactKind::copy)
    store_rest_of_copy(*this, call);
  else if (!direct.contains(op_id))
    store_rest_of_write(*this, call);
  files[call.file].calls.erase(call.number);
  calls.erase(found);
  added.erase(op_id);
}

void Replay::end_calls(std::uint64_t until_ns) {
  const auto finish_until = [&](std::uint64_t ns) {
    for (; !finishing_.empty() && finishing_.begin()->first < ns;
         finishing_.erase(finishing_.begin()))
      finish_at_end(finishing_.begin()->second);
  };
  for (; !ends_.empty() && ends_.top().first <= until_ns; ends_.pop()) {
    finish_until(ends_.top().first);
    if (const auto call = calls.find(ends_.top().second);
        call != calls.end() && call->second.end_ns == ends_.top().first)
      end_call(call->first);
  }
  finish_until(until_ns == UINT64_MAX ? until_ns : until_ns + 1);
}

// Its pages are gone at its end: a file system may write them back first.
void Replay::begin_truncation(const Fact& fact) {
  // An unresolved path may mean any file, and no event shows what remains of its last page. Older
  // traces lack the position at which io_uring cuts.
  const bool are_all_told = has_evictions && fact.offset % kPageBytes == 0;
  if ((fact.file == 0 && !are_all_told) ||
      (fact.kind == FactKind::truncated && fact.offset == kNoOffset))
    note_doubt(fact);
  if (fact.kind == FactKind::truncated && fact.offset < kFarthest)
    doubt_tail(*this, static_cast<std::uint32_t>(fact.file), fact.offset);
  finishing_.emplace(fact.end_ns(), fact);
  if (fact.op_id != 0)
    truncations.insert_or_assign(fact.op_id, fact);
}

void Replay::finish_at_end(const Fact& fact) {
  if (fact.kind == FactKind::synced)
    end_sync(*this, fact);
  else
    drop(fact);
}

void Replay::drop(const Fact& fact) {
  truncations.erase(fact.op_id);
  const std::uint64_t begin = std::min(fact.offset, kFarthest);
  const std::uint64_t end =
      fact.kind == FactKind::truncated ? UINT64_MAX : begin + std::min(fact.bytes, kFarthest);
  drop_pages(*this, static_cast<std::uint32_t>(fact.file), begin, end);
}

void Replay::step(const Fact& fact) {
  end_calls(fact.ts_ns);
  switch (fact.kind) {
  case FactKind::read:
  case FactKind::write:
  case FactKind::copy:
    return begin_call(fact);
  case FactKind::truncated:
  case FactKind::punched:
    return begin_truncation(fact);
  case FactKind::synced:
    finishing_.emplace(fact.end_ns(), fact);
    return;
  case FactKind::added:
    return note_added(*this, fact);
  case FactKind::evicted:
    return drop(pages_of_node(*this, fact));
  case FactKind::mapped:
    files[static_cast<std::uint32_t>(fact.file)].is_mapped = true;
    return;
  case FactKind::flushed:
    flushes[fact.pid] = {static_cast<std::uint32_t>(fact.file),
                         static_cast<std::uint8_t>(fact.flags)};
    return;
  case FactKind::joined:
    return join_transaction(*this, fact);
  case FactKind::committed:
    return begin_commit(*this, fact);
  case FactKind::emptied:
    checkpoints.insert(fact.op_id);
    return;
  case FactKind::dirtied:
    return store_dirty_pages(*this, pages_of_node(*this, fact));
  case FactKind::queued:
    return queue_bio(*this, bio_of_node(*this, fact));
  case FactKind::inserted:
    return insert_request(*this, fact);
  case FactKind::completed:
    return complete_request(*this, fact);
  case FactKind::failed:
    return fail_bio(*this, fact);
  }
}

// Bytes of programs that a device failed to write.
void Replay::count_failed() {
  for (const Link& link : links) {
    const bool is_data = link.cause == Cause::write_back || link.cause == Cause::compressed ||
                         link.cause == Cause::mapped || link.cause == Cause::outside;
    if (link.error == 0 || link.is_repeat || !is_data || link.operation != IOT_block_write)
      continue;
    Fate& of_writer = fate(link.pid, link.file);
    const std::uint64_t bytes = std::min(of_writer.to_device, link.file_bytes());
    of_writer.to_device -= bytes;
    of_writer.failed += bytes;
  }
}

Trails Replay::finish() {
  end_calls(UINT64_MAX);
  count_failed();
  for (const auto& [number, file] : files)
    for (const RangeMap<Dirty>* kept : {&file.dirty, &file.leaving})
      kept->visit(0, UINT64_MAX, [&](std::uint64_t begin, std::uint64_t end, const Dirty& dirty) {
        if (dirty.is_data())
          fate(dirty.pid, number).pending += end - begin;
      });
  Trails trails;
  trails.links = std::move(links);
  trails.late_reads = std::move(late_reads);
  for (const auto& [key, fate] : fates)
    trails.fates.push_back(fate);
  std::ranges::sort(trails.fates, {},
                    [](const Fate& fate) { return std::pair(fate.pid, fate.file); });
  return trails;
}

} // namespace iotrail::trail
