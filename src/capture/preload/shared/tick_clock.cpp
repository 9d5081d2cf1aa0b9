// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/shared/tick_clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/clock.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr std::uint64_t kFirstIntervalNs = 10'000'000;
constexpr std::uint64_t kIntervalNs = 1'000'000'000;
constexpr int kTries = 16;            // per anchor; the fastest reading is the most exact
constexpr std::size_t kAnchors = 128; // kept: two minutes

#if defined(__x86_64__)
std::uint64_t read_counter() {
  return __rdtsc();
}

std::string read_line(const char* path, std::string_view prefix = {}) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(prefix))
      return line;
  return {};
}
#else
std::uint64_t read_counter() {
  return monotonic_ns();
}
#endif

} // namespace

ClockKind TickClock::detect() {
#if defined(__x86_64__)
  const std::string flags = read_line("/proc/cpuinfo", "flags") + ' ';
  const std::string source =
      read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (source == "tsc" && flags.contains(" constant_tsc ") && flags.contains(" nonstop_tsc "))
    return ClockKind::tsc;
#endif
  return ClockKind::monotonic;
}

TickClock::TickClock(ClockKind kind) : kind_(kind), interval_ns_(kFirstIntervalNs) {
  if (kind_ == ClockKind::monotonic)
    return;
  anchors_.push_back(read_anchor());
  next_ns_ = anchors_.front().ns + kFirstIntervalNs;
}

void TickClock::settle() {
  if (kind_ == ClockKind::monotonic || anchors_.size() > 1)
    return;
  const std::uint64_t now_ns = monotonic_ns();
  if (now_ns < next_ns_)
    usleep(static_cast<useconds_t>((next_ns_ - now_ns) / 1000 + 1));
  tick(std::max(monotonic_ns(), next_ns_));
}

std::uint64_t TickClock::ticks() const {
  return kind_ == ClockKind::tsc ? read_counter() : monotonic_ns();
}

TickClock::Anchor TickClock::read_anchor() {
  Anchor best{};
  std::uint64_t best_width = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = read_counter();
    const std::uint64_t ns = monotonic_ns();
    const std::uint64_t after = read_counter();
    if (after - before >= best_width)
      continue;
    best_width = after - before;
    best = {before + (after - before) / 2, ns, 0};
  }
  return best;
}

void TickClock::add_anchor() {
  Anchor anchor = read_anchor();
  Anchor& last = anchors_.back();
  last.ns_per_tick =
      static_cast<double>(anchor.ns - last.ns) / static_cast<double>(anchor.ticks - last.ticks);
  anchor.ns_per_tick = last.ns_per_tick;
  if (anchors_.size() == kAnchors)
    anchors_.erase(anchors_.begin());
  anchors_.push_back(anchor);
}

void TickClock::tick(std::uint64_t now_ns) {
  if (kind_ == ClockKind::monotonic || now_ns < next_ns_)
    return;
  add_anchor();
  interval_ns_ = std::min(interval_ns_ * 2, kIntervalNs);
  next_ns_ = now_ns + interval_ns_;
}

std::uint64_t TickClock::to_ns(std::uint64_t ticks) const {
  if (kind_ == ClockKind::monotonic)
    return ticks;
  const Anchor* anchor = &anchors_.back();
  while (anchor != anchors_.data() && ticks < anchor->ticks)
    --anchor;
  const auto distance = static_cast<std::int64_t>(ticks - anchor->ticks);
  constexpr double kFarthestNs = 9e18; // ticks come from traced programs and may be anything
  const double ns =
      std::clamp(static_cast<double>(distance) * anchor->ns_per_tick, -kFarthestNs, kFarthestNs);
  return anchor->ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(ns));
}

} // namespace iotrail::capture::preload
