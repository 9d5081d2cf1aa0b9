// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes read into the page cache are attributed to the operation that waits for them or triggered
// the read-ahead. Read-ahead is used when a later call asks for it, and late when that call began
// before its arrival. Loads from mapped memory are not seen.
#include <algorithm>

#include "schema.hpp"
#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

BioPart part_of(const Fact& bio, std::uint64_t begin, std::uint64_t end, Cause cause,
                const Call* call = nullptr) {
  return {begin - bio.offset,
          end - bio.offset,
          cause,
          call && call->op_id != bio.op_id ? Confidence::inferred : Confidence::exact,
          call ? call->op_id : bio.op_id,
          call ? call->pid : static_cast<std::uint32_t>(bio.pid)};
}

// A limit of a control group delays a bio until a kernel thread queues it. A task that reads the
// file meanwhile waits for it, or triggered its read-ahead. So the bio belongs to the call that
// asked for bytes of it, else to the last that began.
const Call* reader_of_held_back(State& state, const Fact& bio) {
  const auto file = state.files.find(static_cast<std::uint32_t>(bio.file));
  if (bio.op_id != 0 || state.is_traced(bio.pid) || file == state.files.end())
    return nullptr;
  const Call* reader = nullptr;
  for (const auto& [number, op_id] : file->second.calls) {
    ++state.looks;
    const Call& call = state.calls.at(op_id);
    if (call.kind != FactKind::read || !call.has_range())
      continue;
    if (call.begin < bio.offset + bio.bytes && bio.offset < call.end)
      return &call;
    reader = &call;
  }
  return reader;
}

// For a bio that no call with a known range queued. A fault is not an operation on kernels without
// a hook for it.
Cause cause_without_call(const State& state, const Fact& bio) {
  if (bio.op_id == 0)
    return state.is_traced(bio.pid) ? Cause::mapped_read : Cause::outside;
  if (bio.flags & IOT_block_hint_fault)
    return Cause::mapped_read;
  if (state.truncation_of(bio.op_id)) // the page that it cuts
    return Cause::rounding;
  const auto call = state.calls.find(bio.op_id);
  if (call != state.calls.end() && call->second.kind == FactKind::copy)
    return Cause::read;
  return bio.flags & IOT_block_hint_readahead ? Cause::read_ahead : Cause::read;
}

// Bytes that a call needed before their arrival. It waited for each of them in turn: times do not
// overlap.
void note_late(LateRead& late, std::uint64_t& reached_ns, Link& link, std::uint64_t bytes,
               std::uint64_t there_ns) {
  link.late_bytes += bytes;
  late.bytes += bytes;
  const std::uint64_t since_ns = std::max(reached_ns, link.queued_ns);
  if (there_ns <= since_ns)
    return;
  link.late_ns += there_ns - since_ns;
  late.late_ns += there_ns - since_ns;
  late.by_op = link.op_id;
  reached_ns = there_ns;
}

BioParts charge_asked(State& state, const Fact& bio) {
  const std::uint64_t end = bio.offset + bio.bytes;
  const Call* call = state.call_for(bio, FactKind::read);
  if (!call)
    call = reader_of_held_back(state, bio);
  if (!call || !call->has_range()) {
    BioPart part = part_of(bio, bio.offset, end, cause_without_call(state, bio));
    if (!call && bio.ts_ns >= state.losses.calls_ns) // a call may be missing
      part.confidence = Confidence::inferred;
    return {part};
  }
  const std::uint64_t asked_begin = std::clamp(page_begin(call->begin), bio.offset, end);
  const std::uint64_t asked_end = std::clamp(page_after(call->end), asked_begin, end);
  const std::uint64_t moved_begin = std::clamp(call->begin, asked_begin, asked_end);
  // A write asks for no bytes: it needs the rest of a page that it writes in part.
  const std::uint64_t moved_end = call->kind != FactKind::read
                                      ? moved_begin
                                      : std::clamp(call->moved_end, moved_begin, asked_end);
  BioParts parts;
  const auto add = [&](std::uint64_t from, std::uint64_t to, Cause cause) {
    if (from < to)
      parts.push_back(part_of(bio, from, to, cause, call));
  };
  add(bio.offset, asked_begin, Cause::read_ahead);
  add(asked_begin, moved_begin, Cause::rounding);
  add(moved_begin, moved_end, Cause::read);
  add(moved_end, asked_end, Cause::rounding);
  add(asked_end, end, Cause::read_ahead);
  return parts;
}

} // namespace

BioParts charge_read(State& state, const Fact& bio) {
  RangeMap<Carried>& asked = state.files[static_cast<std::uint32_t>(bio.file)].asked;
  BioParts parts;
  if (bio.above != 0)
    parts = parts_from_above(asked, bio);
  if (parts.empty())
    parts = charge_asked(state, bio);
  for (BioPart& part : parts)
    part.is_repeat = bio.above != 0;
  if (!state.disks.contains(static_cast<std::uint32_t>(bio.device)))
    remember_for_below(asked, bio, parts);
  return parts;
}

void remember_read_ahead(State& state, const Link& link, std::size_t place) {
  RangeMap<std::size_t>& ahead = state.files[link.file].ahead;
  const std::uint64_t end = link.offset + link.file_bytes();
  ahead.take(link.offset, end, [](std::uint64_t, std::uint64_t, std::size_t) {});
  ahead.put(link.offset, end, place);
}

void move_read_ahead(State& state, const Link& part, std::size_t from, std::size_t to) {
  RangeMap<std::size_t>& ahead = state.files[part.file].ahead;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> moved;
  ahead.visit(part.offset, part.offset + part.file_bytes(),
              [&](std::uint64_t begin, std::uint64_t end, std::size_t place) {
                if (place == from)
                  moved.emplace_back(begin, end);
              });
  for (const auto& [begin, end] : moved) {
    ahead.take(begin, end, [](std::uint64_t, std::uint64_t, std::size_t) {});
    ahead.put(begin, end, to);
  }
}

void use_read_ahead(State& state, const Call& call) {
  const auto file = state.files.find(call.file);
  if (file == state.files.end())
    return;
  LateRead late{.op_id = call.op_id, .pid = call.pid, .file = call.file};
  std::uint64_t reached_ns = call.begin_ns; // until then it waited for read-ahead
  file->second.ahead.take(call.begin, call.moved_end,
                          [&](std::uint64_t begin, std::uint64_t end, std::size_t place) {
                            Link& link = state.links[place];
                            link.used_bytes += end - begin;
                            const AheadBio& bio = state.ahead_bios[link.ahead_bio];
                            if (bio.bytes_left == 0 && bio.completed_ns > call.begin_ns &&
                                bio.completed_ns <= call.end_ns)
                              note_late(late, reached_ns, link, end - begin, bio.completed_ns);
                          });
  if (late.bytes > 0)
    state.late_reads.push_back(late);
}

} // namespace iotrail::trail
