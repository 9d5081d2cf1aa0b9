// SPDX-License-Identifier: BSD-3-Clause
//
// The dirty bytes of a file, and their owners: a byte belongs to its last writer. For a clean page,
// cache_dirty shows the task that made it dirty. A page that is dirty already gives no event, so
// the rest of a write counts as stored at its end.
#include <algorithm>
#include <optional>

#include "trail/rules/rules.hpp"

namespace iotrail::trail {

void store(State& state, std::uint32_t file, std::uint64_t begin, std::uint64_t end,
           const Dirty& dirty) {
  CachedFile& cached = state.files[file];
  cached.stored_ns = std::max(cached.stored_ns, dirty.stored_ns);
  state.dirty_files.insert(file);
  Dirty kept = dirty;
  if (!state.written_back.contains(file))
    kept.op_id = kept.stored_ns = 0; // so that adjacent writes of one process become one range
  cached.dirty.take(begin, end, [&](std::uint64_t from, std::uint64_t to, const Dirty& before) {
    ++state.looks;
    if (before.is_data())
      state.fate(before.pid, file).absorbed += to - from;
  });
  cached.dirty.put(begin, end, kept);
  Fate& fate = state.fate(dirty.pid, file);
  fate.written += end - begin;
  if (dirty.cause == Cause::mapped)
    fate.mapped += end - begin;
  if (dirty.cause == Cause::outside)
    fate.outside += end - begin;
}

namespace {

// Pages that a task made dirty without a call of known range. A page that is dirty already keeps
// its owner: after a failed write-back, another task, such as a journal's thread, makes it dirty
// again.
void store_whole_pages(State& state, std::uint32_t file, std::uint64_t begin, std::uint64_t end,
                       const Dirty& dirty) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
  state.files[file].dirty.visit_gaps(
      begin, end, [&](std::uint64_t from, std::uint64_t to) { gaps.emplace_back(from, to); });
  for (const auto& [from, to] : gaps)
    if (page_after(from) < page_begin(to))
      store(state, file, page_after(from), page_begin(to), dirty);
}

} // namespace

// A truncation fills the rest of a page with zeroes, which belong to no writer.
void note_zeroed_pages(State& state, const Fact& fact) {
  const Dirty zeroed{fact.op_id, fact.ts_ns, static_cast<std::uint32_t>(fact.pid), Cause::along};
  state.files[static_cast<std::uint32_t>(fact.file)].dirty.fill(fact.offset,
                                                                fact.offset + fact.bytes, zeroed);
}

namespace {

// If a truncation makes pages of another file dirty, it copies them: overlayfs copies a file to its
// upper layer.
bool fills_with_zeroes(const State& state, const Fact& dirtied) {
  const Fact* cut = state.truncation_of(dirtied.op_id);
  return cut && (cut->kind == FactKind::punched || !state.is_of_path(dirtied.op_id) ||
                 cut->file == dirtied.file ||
                 (dirtied.offset <= cut->offset && cut->offset < dirtied.offset + dirtied.bytes));
}

// overlayfs copies a file to its upper layer when it is opened for writing, or its mode changes.
Cause cause_without_write(const State& state, const Fact& dirtied) {
  if (state.is_of_path(dirtied.op_id))
    return Cause::write_back;
  return state.is_traced(dirtied.pid) ? Cause::mapped : Cause::outside;
}

} // namespace

namespace {

// If the pages became clean again without a bio, as after a loss, the bytes before count as gone.
void put_leaving(State& state, std::uint32_t file, std::uint64_t begin, std::uint64_t end,
                 const Dirty& entry) {
  RangeMap<Dirty>& leaving = state.files[file].leaving;
  leaving.take(begin, end, [&](std::uint64_t from, std::uint64_t to, const Dirty& before) {
    ++state.looks;
    if (before.is_data())
      state.fate(before.pid, file).absorbed += to - from;
  });
  leaving.put(begin, end, entry);
}

// A write makes pages dirty that the engine knows as dirty. So they have become clean since, for a
// bio that is not queued yet and that may carry the new bytes too. From a folio of several pages,
// that bio carries only those written to.
void leave_for_bio(State& state, std::uint32_t file, const Fact& dirtied, const Call& call) {
  if (!state.written_back.contains(file))
    return;
  RangeMap<Dirty>& dirty = state.files[file].dirty;
  const bool is_one_page = dirtied.bytes <= kPageBytes;
  RangeMap<Dirty> before;
  dirty.take(dirtied.offset, dirtied.offset + dirtied.bytes,
             [&](std::uint64_t begin, std::uint64_t end, const Dirty& entry) {
               ++state.looks;
               before.put(begin, end, entry);
             });
  before.visit(0, UINT64_MAX, [&](std::uint64_t begin, std::uint64_t end, Dirty entry) {
    if (entry.op_id == call.op_id || !(entry.is_data() || is_one_page))
      return dirty.put(begin, end, entry);
    entry.confidence = std::max(entry.confidence, Confidence::shared);
    put_leaving(state, file, begin, end, entry);
  });
}

} // namespace

void store_dirty_pages(State& state, const Fact& fact) {
  const auto file = static_cast<std::uint32_t>(fact.file);
  const std::uint64_t dirty_end = fact.offset + fact.bytes;
  if (file == 0 || fact.bytes == 0)
    return;
  if (state.of_metadata.contains(file))
    return store_dirty_metadata(state, fact);
  if (fills_with_zeroes(state, fact))
    return note_zeroed_pages(state, fact);
  Call* call = state.call_for(fact, FactKind::write);
  Dirty dirty{call ? call->op_id : fact.op_id, fact.ts_ns, static_cast<std::uint32_t>(fact.pid),
              call ? Cause::write_back : cause_without_write(state, fact)};
  if (!call || !call->has_range()) {
    if (call) // how much of its pages it wrote is unknown
      dirty.confidence = Confidence::inferred;
    return store_whole_pages(state, file, fact.offset, dirty_end, dirty);
  }
  const std::uint64_t begin = std::clamp(call->begin, fact.offset, dirty_end);
  const std::uint64_t end = std::clamp(call->end, begin, dirty_end);
  if (begin < end) {
    take_assumption_back(state, *call, begin);
    take_guess_back(state, *call, begin, end);
  }
  leave_for_bio(state, file, fact, *call);
  if (begin < end) {
    store(state, file, begin, end, dirty);
    state.looks += call->stored.fill(begin, end, true);
  }
  dirty.cause = Cause::along; // the other pages of the folio
  RangeMap<Dirty>& pages = state.files[file].dirty;
  pages.fill(fact.offset, std::clamp(page_begin(begin), fact.offset, dirty_end), dirty);
  pages.fill(std::clamp(page_after(end), fact.offset, dirty_end), dirty_end, dirty);
}

namespace {

// A write into dirty pages causes no event, so the time of the store is unknown. Stores by others
// during the write may come before or after.
void store_untold(State& state, const Call& call, std::uint64_t begin, std::uint64_t end,
                  Confidence confidence) {
  const Dirty dirty{call.op_id, call.end_ns, call.pid, Cause::write_back, confidence};
  Dirty shared = dirty;
  shared.confidence = Confidence::shared;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> contested;
  state.files[call.file].dirty.visit(
      begin, end, [&](std::uint64_t from, std::uint64_t to, const Dirty& before) {
        if (before.is_data() && before.stored_ns > call.begin_ns)
          contested.emplace_back(from, to);
      });
  std::uint64_t reached = begin;
  for (const auto& [from, to] : contested) {
    if (reached < from)
      store(state, call.file, reached, from, dirty);
    store(state, call.file, from, to, shared);
    reached = to;
  }
  if (reached < end)
    store(state, call.file, reached, end, dirty);
}

// The pages with dirty bytes, as ranges: the length of a write in a hostile trace has no limit.
RangeMap<bool> find_dirty_pages(const State& state, const Call& call, std::uint64_t begin,
                                std::uint64_t end) {
  RangeMap<bool> pages;
  const auto cached = state.files.find(call.file);
  if (cached != state.files.end())
    cached->second.dirty.visit(page_begin(begin), page_after(end),
                               [&](std::uint64_t from, std::uint64_t to, const Dirty&) {
                                 pages.fill(page_begin(from), page_after(to), true);
                               });
  return pages;
}

void count_gone(State& state, const Call& call, std::uint64_t begin, std::uint64_t end,
                std::uint64_t Fate::* where) {
  Fate& fate = state.fate(call.pid, call.file);
  fate.written += end - begin;
  fate.*where += end - begin;
}

// For pages that became clean and that the write itself did not make dirty. It stored there before
// that, or after others made them dirty again.
void store_where_dirty_again(State& state, Call& call, std::uint64_t begin, std::uint64_t end,
                             bool are_given_up) {
  const RangeMap<bool> dirty_pages = find_dirty_pages(state, call, begin, end);
  dirty_pages.visit(begin, end, [&](std::uint64_t from, std::uint64_t to, bool) {
    take_guess_back(state, call, from, to);
    store_untold(state, call, from, to, Confidence::shared);
  });
  dirty_pages.visit_gaps(begin, end, [&](std::uint64_t from, std::uint64_t to) {
    if (are_given_up)
      count_gone(state, call, from, to, &Fate::dropped);
    else // if the bio may have carried either of two writes, its bytes belong to the other one
      call.counted.visit_gaps(from, to, [&](std::uint64_t gap_begin, std::uint64_t gap_end) {
        count_gone(state, call, gap_begin, gap_end, &Fate::absorbed);
      });
  });
}

void cut_writes_in_flight(State& state, const CachedFile& cached, std::uint64_t begin,
                          std::uint64_t end) {
  const std::uint64_t whole_begin = page_after(begin);
  const std::uint64_t whole_end = std::max(whole_begin, page_begin(end));
  for (const auto& [number, op_id] : cached.calls) {
    ++state.looks;
    Call& call = state.calls.at(op_id);
    if (call.kind != FactKind::write || call.begin >= end || call.end <= begin)
      continue;
    const std::uint64_t from = std::max(call.begin, whole_begin);
    const std::uint64_t to = std::min(call.end, whole_end);
    if (state.has_cache_events && from < to)
      state.looks += call.cleaned.fill(from, to, true);
    call.is_contested |=
        !state.has_cache_events || call.begin < whole_begin || call.end > whole_end;
  }
}

} // namespace

void store_rest_of_write(State& state, Call& call) {
  const Confidence confidence = call.is_contested ? Confidence::shared : Confidence::exact;
  call.stored.visit_gaps(call.begin, call.end, [&](std::uint64_t begin, std::uint64_t end) {
    call.cleaned.visit_gaps(begin, end, [&](std::uint64_t from, std::uint64_t to) {
      store_untold(state, call, from, to, confidence);
    });
    call.cleaned.visit(begin, end, [&](std::uint64_t from, std::uint64_t to, bool are_given_up) {
      store_where_dirty_again(state, call, from, to, are_given_up);
    });
  });
}

// A copy that makes no page dirty may share the bytes on the device (reflink).
void store_rest_of_copy(State& state, const Call& call) {
  const RangeMap<bool> dirty_pages = find_dirty_pages(state, call, call.begin, call.end);
  call.stored.visit_gaps(call.begin, call.end, [&](std::uint64_t begin, std::uint64_t end) {
    dirty_pages.visit(begin, end, [&](std::uint64_t from, std::uint64_t to, bool) {
      ++state.looks;
      store_untold(state, call, from, to, Confidence::exact);
    });
  });
}

namespace {

// A page stays dirty, even if all bytes written to it were cut off.
void keep_dirty(RangeMap<Dirty>& pages, std::uint64_t cut_at, Dirty cut) {
  bool has_more = false;
  pages.visit(page_begin(cut_at), cut_at,
              [&](std::uint64_t, std::uint64_t, const Dirty&) { has_more = true; });
  cut.cause = Cause::along;
  cut.confidence = Confidence::exact;
  if (!has_more)
    pages.fill(page_begin(cut_at), page_after(cut_at), cut);
}

} // namespace

void doubt_tail(State& state, std::uint32_t file, std::uint64_t begin) {
  const auto cached = state.files.find(file);
  if (cached == state.files.end())
    return;
  RangeMap<Dirty> tail;
  RangeMap<Dirty>& dirty = cached->second.dirty;
  dirty.take(begin, page_after(begin), [&](std::uint64_t from, std::uint64_t to, Dirty of) {
    of.confidence = Confidence::inferred;
    tail.put(from, to, of);
  });
  tail.visit(begin, page_after(begin), [&](std::uint64_t from, std::uint64_t to, const Dirty& of) {
    dirty.put(from, to, of);
  });
}

void drop_pages(State& state, std::uint32_t file, std::uint64_t begin, std::uint64_t end) {
  const auto cached = state.files.find(file);
  if (cached == state.files.end())
    return;
  cut_writes_in_flight(state, cached->second, begin, end);
  std::optional<Dirty> cut; // of the page that is cut
  cached->second.dirty.take(begin, end,
                            [&](std::uint64_t from, std::uint64_t to, const Dirty& dirty) {
                              ++state.looks;
                              if (from < page_after(begin))
                                cut = dirty;
                              if (dirty.is_data())
                                state.fate(dirty.pid, file).dropped += to - from;
                            });
  cached->second.leaving.take(begin, end,
                              [&](std::uint64_t from, std::uint64_t to, const Dirty& dirty) {
                                if (dirty.is_data())
                                  state.fate(dirty.pid, file).dropped += to - from;
                              });
  if (cut)
    keep_dirty(cached->second.dirty, begin, *cut);
  cached->second.ahead.take(begin, end, [](std::uint64_t, std::uint64_t, std::size_t) {});
}

} // namespace iotrail::trail
