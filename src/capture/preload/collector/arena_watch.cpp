// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/arena_watch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/clock.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr std::size_t kConstantBytes = offsetof(ArenaHeader, proc_device) + sizeof(iot_u64);

// The counters of programs, in the order of the header.
std::array<iot_u64, 7> counts_of(const ArenaHeader& header) {
  // Threads return numbers beyond the limit, several at a time.
  return {header.next_claim,  std::min(header.next_file, kFileLimit),
          header.used_places, header.no_ring,
          header.no_clock,    header.text_full,
          header.not_followed};
}

// Copies the counters one by one, because programs change them meanwhile.
ArenaHeader copy_of(const ArenaHeader& shared) {
  ArenaHeader copy = shared;
  const auto load = [](const auto& from, auto& to) {
    to = __atomic_load_n(&from, __ATOMIC_ACQUIRE);
  };
  load(shared.next_claim, copy.next_claim);
  load(shared.next_file, copy.next_file);
  load(shared.used_places, copy.used_places);
  load(shared.no_ring, copy.no_ring);
  load(shared.no_clock, copy.no_clock);
  load(shared.text_full, copy.text_full);
  load(shared.not_followed, copy.not_followed);
  return copy;
}

} // namespace

ArenaWatch::ArenaWatch(ArenaFile& arena)
    : arena_(arena), last_(arena.header()), seen_ns_(monotonic_ns()) {}

void ArenaWatch::set_state(ArenaState state) {
  last_.state = static_cast<iot_u32>(state);
  __atomic_store_n(&arena_.header().state, last_.state, __ATOMIC_SEQ_CST);
}

bool ArenaWatch::follows(const ArenaHeader& now, std::uint64_t elapsed_ns) const {
  if (std::memcmp(&now, &last_, kConstantBytes) != 0 || now.used_places > kPlaces)
    return false;
  return std::ranges::equal(counts_of(last_), counts_of(now), [&](iot_u64 before, iot_u64 after) {
    return may_have_grown(before, after, elapsed_ns);
  });
}

bool ArenaWatch::look() {
  if (!is_intact_)
    return false;
  const std::uint64_t begin_ns = monotonic_ns();
  const ArenaHeader now = copy_of(arena_.header());
  is_intact_ = follows(now, monotonic_ns() - seen_ns_) && arena_.is_whole();
  if (!is_intact_)
    return false;
  last_ = now;
  seen_ns_ = begin_ns;
  return true;
}

} // namespace iotrail::capture::preload
