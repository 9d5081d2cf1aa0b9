// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of a file's pages on their way to the device are attributed to their writer, even if
// another task queued the bio.
//
// A write in flight may store its bytes before the bio or after it. If it queued the bio itself, it
// stored before. If the page was dirty already, either is possible: shared. If no other task wrote,
// the bytes are its own.
#include <algorithm>

#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};

// The parts of a write in flight that lie in `range` and are not known to be stored.
std::vector<Range> open_parts(const Call& call, const Range& range) {
  std::vector<Range> parts;
  const std::uint64_t begin = std::max(range.begin, call.begin);
  const std::uint64_t end = std::min(range.end, call.end);
  if (begin < end)
    call.stored.visit_gaps(
        begin, end, [&](std::uint64_t from, std::uint64_t to) { parts.push_back({from, to}); });
  return parts;
}

// Dirty pages that took a write without an event: the bio may carry either version. Returns the
// number of entries.
std::size_t mark_shared(RangeMap<Dirty>& dirty, const Range& range) {
  std::vector<std::pair<Range, Dirty>> marked;
  dirty.take(range.begin, range.end,
             [&](std::uint64_t begin, std::uint64_t end, const Dirty& entry) {
               marked.push_back({{begin, end}, entry});
               Confidence& confidence = marked.back().second.confidence;
               confidence = std::max(confidence, Confidence::shared);
             });
  for (const auto& [place, entry] : marked)
    dirty.put(place.begin, place.end, entry);
  return marked.size();
}

void settle_writes_in_flight(State& state, const Fact& bio, const Range& range) {
  CachedFile& file = state.files[static_cast<std::uint32_t>(bio.file)];
  for (const auto& [number, op_id] : file.calls) {
    ++state.looks;
    Call& call = state.calls.at(op_id);
    if (call.kind != FactKind::write)
      continue;
    const bool is_own = op_id == bio.op_id;
    const Dirty dirty{op_id, bio.ts_ns, call.pid, Cause::write_back, Confidence::shared};
    for (const Range& part : open_parts(call, range)) {
      ++state.looks;
      if (is_own) {
        assume_stored(state, call, part.begin, part.end, bio.ts_ns);
        continue;
      }
      std::vector<Range> gaps;
      file.dirty.visit_gaps(part.begin, part.end, [&](std::uint64_t begin, std::uint64_t end) {
        ++state.looks;
        gaps.push_back({begin, end});
      });
      state.looks += mark_shared(file.dirty, part);
      for (const Range& gap : gaps) {
        store(state, call.file, gap.begin, gap.end, dirty);
        state.looks += state.has_cache_events
                           ? call.counted.fill(gap.begin, gap.end, state.links.size())
                           : call.stored.fill(gap.begin, gap.end, true);
      }
      if (state.has_cache_events)
        state.looks += call.cleaned.fill(part.begin, part.end, false);
    }
  }
}

BioPart along_with(const BioPart& part, std::uint64_t begin, std::uint64_t end) {
  BioPart along = part;
  along.begin = begin;
  along.end = end;
  along.cause = part.cause == Cause::along ? Cause::along : Cause::rounding;
  return along;
}

// Fills a gap without a writer between two parts: the rest of their pages goes along with them.
// Positions are in the file.
void fill_gap(BioParts& parts, std::uint64_t begin, std::uint64_t end, const BioPart* next) {
  if (begin == end)
    return;
  std::uint64_t reached = begin;
  if (!parts.empty() && parts.back().end == begin && begin % kPageBytes != 0) {
    reached = std::min(end, page_after(begin));
    parts.push_back(along_with(parts.back(), begin, reached));
  }
  const std::uint64_t next_begin = next && next->begin == end && end % kPageBytes != 0
                                       ? std::max(reached, page_begin(end))
                                       : end;
  if (reached < next_begin)
    parts.push_back({reached, next_begin, Cause::dirty_before});
  if (next_begin < end)
    parts.push_back(along_with(*next, next_begin, end));
}

// A mapped file may have unseen stores in pages that were dirty already.
Confidence confidence_of(const BioPart& part, bool is_sure, bool is_mapped) {
  if (!is_sure)
    return Confidence::inferred;
  return is_mapped && part.cause != Cause::mapped ? std::max(part.confidence, Confidence::shared)
                                                  : part.confidence;
}

// A call that queues a bio of its own stores would have waited for an outstanding bio. So there was
// none, as when btrfs keeps a small file in its metadata, and the pages hold both.
void rejoin_leaving(State& state, const Fact& bio, const Range& range) {
  CachedFile& file = state.files[static_cast<std::uint32_t>(bio.file)];
  bool is_own = false;
  file.dirty.visit(range.begin, range.end, [&](std::uint64_t, std::uint64_t, const Dirty& dirty) {
    is_own |= bio.op_id != 0 && dirty.op_id == bio.op_id;
  });
  if (!is_own)
    return;
  file.leaving.take(
      range.begin, range.end, [&](std::uint64_t begin, std::uint64_t end, const Dirty& before) {
        if (before.is_data())
          file.dirty.visit(begin, end, [&](std::uint64_t from, std::uint64_t to, const Dirty&) {
            state.fate(before.pid, static_cast<std::uint32_t>(bio.file)).absorbed += to - from;
          });
        state.looks += file.dirty.fill(begin, end, before);
      });
}

// The kernel zeroes a page behind the end of its file before it writes it. So bytes that a truncation
// cuts off, and that a bio still has, are not written.
void drop_behind_end(State& state, const Fact& bio, const Range& range) {
  const std::uint64_t end = std::min(range.end, page_after(std::min(bio.file_bytes, kFarthest)));
  if (bio.file_bytes <= range.begin || bio.file_bytes >= end)
    return;
  const auto number = static_cast<std::uint32_t>(bio.file);
  CachedFile& file = state.files[number];
  for (RangeMap<Dirty>* pages : {&file.dirty, &file.leaving}) {
    std::vector<std::pair<Range, Dirty>> zeroed;
    pages->take(bio.file_bytes, end, [&](std::uint64_t from, std::uint64_t to, const Dirty& dirty) {
      zeroed.push_back({{from, to}, dirty});
    });
    for (auto& [place, dirty] : zeroed) {
      ++state.looks;
      if (dirty.cause == Cause::write_back) {
        state.fate(dirty.pid, number).dropped += place.end - place.begin;
        dirty.cause = Cause::along;
      }
      pages->put(place.begin, place.end, dirty);
    }
  }
}

// For pages that became dirty again before their bio came, the earlier contents.
BioParts take_dirty(State& state, const Fact& bio, const Range& range) {
  const auto number = static_cast<std::uint32_t>(bio.file);
  CachedFile& file = state.files[number];
  BioParts taken;
  const auto take = [&](std::uint64_t begin, std::uint64_t end, const Dirty& dirty) {
    ++state.looks;
    taken.push_back(
        {begin, end, dirty.cause, dirty.confidence, dirty.op_id, dirty.pid, dirty.stored_ns});
    if (dirty.is_data())
      state.fate(dirty.pid, number).to_device += end - begin;
  };
  rejoin_leaving(state, bio, range);
  file.leaving.take(range.begin, range.end, take);
  RangeMap<bool> pages;
  for (const BioPart& part : taken)
    pages.fill(page_begin(part.begin), page_after(part.end), true);
  pages.visit_gaps(range.begin, range.end, [&](std::uint64_t begin, std::uint64_t end) {
    file.dirty.take(begin, end, take);
  });
  std::ranges::sort(taken, {}, &BioPart::begin);
  return taken;
}

// The contents of a bio in one range of its file. Positions are in the file.
BioParts charge_range(State& state, const Fact& bio, const Range& range, bool is_sure) {
  settle_writes_in_flight(state, bio, range);
  drop_behind_end(state, bio, range);
  const BioParts taken = take_dirty(state, bio, range);
  BioParts parts;
  std::uint64_t reached = range.begin;
  for (const BioPart& part : taken) {
    fill_gap(parts, reached, part.begin, &part);
    parts.push_back(part);
    reached = part.end;
  }
  fill_gap(parts, reached, range.end, nullptr);
  const bool is_mapped = state.files[static_cast<std::uint32_t>(bio.file)].is_mapped;
  for (BioPart& part : parts)
    part.confidence = confidence_of(part, is_sure, is_mapped);
  return parts;
}

// The blocks of a bio are contiguous on the device. If they are not one range of the file, they are
// the dirty blocks from its begin on.
std::vector<Range> ranges_of(State& state, const Fact& bio) {
  constexpr std::uint64_t kWindows = 64;
  const Range whole{bio.offset, bio.offset + bio.bytes};
  if (bio.is_contiguous != 0)
    return {whole};
  const std::uint64_t block_bytes = state.block_bytes_of(static_cast<std::uint32_t>(bio.file));
  std::vector<Range> ranges;
  std::uint64_t left = bio.bytes;
  std::uint64_t reached = bio.offset;
  const auto add = [&](std::uint64_t begin, std::uint64_t end, const Dirty&) {
    const std::uint64_t from = std::max(reached, begin - begin % block_bytes);
    const std::uint64_t end_of_block = end + block_bytes - 1;
    const std::uint64_t to = std::min(end_of_block - end_of_block % block_bytes, from + left);
    if (from >= to)
      return;
    if (!ranges.empty() && ranges.back().end == from)
      ranges.back().end = to;
    else
      ranges.push_back({from, to});
    left -= to - from;
    reached = to;
  };
  state.files[static_cast<std::uint32_t>(bio.file)].dirty.visit(
      bio.offset, bio.offset + kWindows * bio.bytes, add);
  return left == 0 ? ranges : std::vector<Range>{whole};
}

BioParts charge_dirty(State& state, const Fact& bio) {
  const CachedFile& file = state.files[static_cast<std::uint32_t>(bio.file)];
  const bool is_sure = bio.is_contiguous != 0 && state.is_sure_of(file, bio.ts_ns);
  BioParts parts;
  std::uint64_t place = 0; // in the bio
  for (const Range& range : ranges_of(state, bio)) {
    for (BioPart part : charge_range(state, bio, range, is_sure)) {
      part.offset = part.begin;
      part.begin = place;
      part.end = place += part.end - part.offset;
      parts.push_back(part);
    }
  }
  return parts;
}

} // namespace

BioParts charge_write_back(State& state, const Fact& bio) {
  RangeMap<Carried>& carried = state.files[static_cast<std::uint32_t>(bio.file)].carried;
  BioParts parts = parts_from_above(carried, bio);
  if (parts.empty())
    parts = charge_dirty(state, bio);
  if (!state.disks.contains(static_cast<std::uint32_t>(bio.device)))
    remember_for_below(carried, bio, parts);
  return parts;
}

} // namespace iotrail::trail
