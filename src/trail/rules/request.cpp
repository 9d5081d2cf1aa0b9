// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of requests, in a scheduler or completed, belong to the bios that were queued for the same
// position.
#include <algorithm>

#include "base/bytes.hpp"
#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

void note_completion(Link& link, const Fact& request) {
  link.issued_ns = request.ts_ns;
  link.completed_ns = request.end_ns();
  link.error = static_cast<std::int32_t>(request.result);
}

void complete_ahead(AheadBio& bio, const Link& link) {
  bio.bytes_left -= std::min(bio.bytes_left, link.bytes);
  bio.completed_ns = std::max(bio.completed_ns, link.completed_ns);
}

// Splits a link if only a part of it was completed. Returns the index of the completed part.
std::size_t complete_part(State& state, const Fact& request, const QueuedPart& part) {
  std::size_t place = part.link;
  const Link& whole = state.links[place];
  const std::uint64_t file_bytes_before =
      in_proportion(whole.file_bytes(), part.begin - whole.begin, whole.bytes);
  if (part.bytes < whole.bytes) {
    Link& rest = state.links[place];
    const std::uint64_t plain_bytes = in_proportion(rest.plain_bytes, part.bytes, rest.bytes);
    rest.bytes -= part.bytes;
    rest.plain_bytes -= plain_bytes;
    state.links.push_back(state.links[place]);
    place = state.links.size() - 1;
    state.links[place].plain_bytes = plain_bytes;
    state.links[place].used_bytes = 0; // no byte of an unfinished bio was used
  }
  Link& link = state.links[place];
  if (link.offset != kNoOffset)
    link.offset += file_bytes_before;
  link.begin = part.begin;
  link.bytes = part.bytes;
  note_completion(link, request);
  if (request.ts_ns >= state.losses.blocks_ns ||
      (part.is_ambiguous && state.losses.are_completions_missed)) // it may belong to another bio
    link.confidence = Confidence::inferred;
  if (link.ahead_bio != kNotAhead)
    complete_ahead(state.ahead_bios[link.ahead_bio], link);
  if (place != part.link && link.cause == Cause::read_ahead && link.offset != kNoOffset)
    move_read_ahead(state, link, part.link, place);
  return place;
}

// No bio in the trace was queued for these bytes.
void complete_unknown(State& state, const Fact& request, std::uint64_t begin, std::uint64_t end) {
  if (begin == end)
    return;
  Link link;
  link.queued_ns = request.ts_ns;
  link.begin = begin;
  link.bytes = end - begin;
  link.device = static_cast<std::uint32_t>(request.device);
  link.file = request.op_id ? static_cast<std::uint32_t>(request.file) : 0;
  link.operation = request.operation();
  link.by_op = link.op_id = request.op_id;
  link.by_pid = static_cast<std::uint32_t>(request.pid);
  link.pid = request.op_id ? link.by_pid : 0;
  link.cause = request.op_id ? Cause::request : Cause::no_bio;
  link.confidence = Confidence::inferred;
  note_completion(link, request);
  state.links.push_back(link);
}

// A bio that joined a request in the scheduler's queue was in that queue as soon as it was queued.
void note_joined(State& state, const std::vector<std::size_t>& places) {
  std::uint64_t inserted_ns = 0;
  for (const std::size_t place : places)
    inserted_ns = std::max(inserted_ns, state.links[place].inserted_ns);
  if (inserted_ns == 0)
    return;
  for (const std::size_t place : places)
    if (Link& link = state.links[place]; link.inserted_ns == 0 && link.queued_ns >= inserted_ns)
      link.inserted_ns = link.queued_ns;
}

// A bio that joins a request is queued while the request waits.
QueueTimes times_of_bios(const Fact& request) {
  if (request.queue_ns == 0)
    return {};
  return {.first_ns = request.ts_ns - std::min(request.ts_ns, request.queue_ns),
          .last_ns = request.ts_ns};
}

} // namespace

void insert_request(State& state, const Fact& request) {
  const auto queue =
      state.queues.find({static_cast<std::uint32_t>(request.device), request.operation()});
  if (queue == state.queues.end())
    return;
  const std::uint64_t begin = std::min(request.sector, kFarthest / kSectorBytes) * kSectorBytes;
  queue->second.visit(begin, begin + request.bytes, [&](const QueuedPart& part) {
    std::uint64_t& inserted_ns = state.links[part.link].inserted_ns;
    if (inserted_ns == 0) // it may be inserted again
      inserted_ns = request.ts_ns;
  });
}

void complete_request(State& state, const Fact& request) {
  const std::uint64_t begin = std::min(request.sector, kFarthest / kSectorBytes) * kSectorBytes;
  const std::uint64_t end = begin + request.bytes;
  DeviceQueue& queue =
      state.queues[{static_cast<std::uint32_t>(request.device), request.operation()}];
  std::uint64_t reached = begin;
  std::vector<std::size_t> completed;
  for (const QueuedPart& part : queue.complete(begin, end, times_of_bios(request))) {
    complete_unknown(state, request, reached, part.begin);
    completed.push_back(complete_part(state, request, part));
    reached = part.end();
  }
  complete_unknown(state, request, reached, end);
  note_joined(state, completed);
}

// The ends of other bios are not recorded, so the last bio queued for the position has failed. If
// its front part continued by itself, the position belongs to the rest.
void fail_bio(State& state, const Fact& bio) {
  const auto queue = state.queues.find({static_cast<std::uint32_t>(bio.device), bio.operation()});
  if (queue == state.queues.end())
    return;
  const std::uint64_t begin = std::min(bio.sector, kFarthest / kSectorBytes) * kSectorBytes;
  std::size_t last = state.links.size();
  queue->second.visit(begin, begin + bio.bytes, [&](const QueuedPart& part) {
    if (last == state.links.size() || part.link > last)
      last = part.link;
  });
  if (last == state.links.size())
    return;
  const std::uint64_t queued_ns = state.links[last].queued_ns;
  for (std::size_t place = last + 1; place-- > 0;) {
    ++state.looks;
    Link& link = state.links[place];
    if (link.queued_ns != queued_ns || link.device != bio.device)
      break;
    link.error = static_cast<std::int32_t>(bio.result);
  }
}

} // namespace iotrail::trail
