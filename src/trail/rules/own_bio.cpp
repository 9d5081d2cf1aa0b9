// SPDX-License-Identifier: BSD-3-Clause
//
// A write that queues a bio of its own range has usually stored its bytes before, as with O_SYNC.
// But btrfs first writes back the dirty pages of the range. The pages show the difference: a page
// that the write makes dirty afterwards was clean.
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

constexpr Dirty kNothing{0, 0, 0, Cause::along};

bool is_in(const Link& link, std::uint64_t begin, std::uint64_t end) {
  return begin <= link.offset && link.offset + link.bytes <= end;
}

// The bio had the earlier contents.
void correct_links(State& state, const Call& call, std::uint64_t begin, std::uint64_t end,
                   const Assumed& assumed) {
  state.looks += state.links.size() - std::min(state.links.size(), assumed.first_link);
  for (std::size_t at = assumed.first_link; at < state.links.size(); ++at) {
    Link& link = state.links[at];
    if (link.op_id != call.op_id || link.by_op != call.op_id || link.file != call.file ||
        link.cause != Cause::write_back || link.offset >= end || link.offset + link.bytes <= begin)
      continue;
    if (is_in(link, begin, end) && assumed.before.is_data()) {
      link.op_id = assumed.before.op_id;
      link.pid = assumed.before.pid;
      link.stored_ns = assumed.before.stored_ns;
      link.cause = assumed.before.cause;
      link.confidence = std::max(link.confidence, assumed.before.confidence);
    } else {
      link.confidence = std::max(link.confidence, Confidence::shared);
    }
  }
}

void correct_fates(State& state, const Call& call, std::uint64_t bytes, const Dirty& before) {
  if (!before.is_data())
    return;
  Fate& own = state.fate(call.pid, call.file);
  own.written -= bytes;
  own.to_device -= bytes;
  Fate& other = state.fate(before.pid, call.file);
  other.absorbed -= bytes;
  other.to_device += bytes;
}

} // namespace

void assume_stored(State& state, Call& call, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t now_ns) {
  if (state.has_cache_events) {
    const Assumed none{kNothing, state.links.size()};
    state.files[call.file].dirty.visit(
        begin, end, [&](std::uint64_t from, std::uint64_t to, const Dirty& before) {
          call.assumed.put(from, to, {before, state.links.size()});
        });
    call.assumed.fill(begin, end, none);
  }
  store(state, call.file, begin, end,
        {call.op_id, now_ns, call.pid, Cause::write_back, Confidence::exact});
  state.looks += call.stored.fill(begin, end, true);
}

// A write goes from front to back: if it had not stored at one position of the bio, it had not
// stored after it.
void take_assumption_back(State& state, Call& call, std::uint64_t begin) {
  std::size_t bio = SIZE_MAX;
  call.assumed.visit(begin, begin + 1, [&](std::uint64_t, std::uint64_t, const Assumed& assumed) {
    bio = assumed.first_link;
  });
  if (bio == SIZE_MAX)
    return;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, Assumed>> wrong;
  call.assumed.visit(begin, call.end,
                     [&](std::uint64_t from, std::uint64_t to, const Assumed& assumed) {
                       if (assumed.first_link == bio)
                         wrong.emplace_back(from, to, assumed);
                     });
  for (const auto& [from, to, assumed] : wrong) {
    call.assumed.take(from, to, [](std::uint64_t, std::uint64_t, const Assumed&) {});
    if (!assumed.before.is_data()) // no other writer is known: keep the attribution
      continue;
    call.stored.take(from, to, [](std::uint64_t, std::uint64_t, bool) {});
    correct_links(state, call, from, to, assumed);
    correct_fates(state, call, to - from, assumed.before);
  }
}

void take_guess_back(State& state, Call& call, std::uint64_t begin, std::uint64_t end) {
  std::size_t first_link = SIZE_MAX;
  call.counted.take(begin, end, [&](std::uint64_t, std::uint64_t, std::size_t link) {
    first_link = std::min(first_link, link);
  });
  if (first_link == SIZE_MAX)
    return;
  state.looks += state.links.size() - std::min(state.links.size(), first_link);
  Fate& fate = state.fate(call.pid, call.file);
  for (std::size_t at = first_link; at < state.links.size(); ++at) {
    Link& link = state.links[at];
    if (link.op_id != call.op_id || link.file != call.file || link.cause != Cause::write_back ||
        link.confidence == Confidence::exact || !is_in(link, begin, end))
      continue;
    link.cause = Cause::rounding;
    if (link.is_repeat)
      continue;
    fate.written -= link.bytes;
    fate.to_device -= link.bytes;
  }
}

} // namespace iotrail::trail
