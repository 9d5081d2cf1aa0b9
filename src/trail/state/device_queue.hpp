// SPDX-License-Identifier: BSD-3-Clause
//
// The bios of one device, from their queueing to the completion of their request, found by sectors.
// Bios may be split, merged or completed in parts: completed bytes belong to the bio queued for
// their position. The number of bios is bounded, because requests of a mapped device never
// complete. Beyond the limit, those nearest to the device's begin are dropped, and their completion
// finds nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace iotrail::trail {

// Bytes of a bio with one link, from `begin` on, in bytes from the device's begin.
struct QueuedPart {
  std::uint64_t begin;
  std::uint64_t bytes;
  std::size_t link; // its index among the links
  std::uint64_t queued_ns = 0;
  bool is_ambiguous = false; // of a completed part: other bios are queued for the same positions

  std::uint64_t end() const { return begin + bytes; }
};

// When the bios of a request were queued, inclusive: a bio queued at another time is not part of
// it.
struct QueueTimes {
  std::uint64_t first_ns = 1; // an empty range by default
  std::uint64_t last_ns = 0;

  bool are_known() const { return first_ns <= last_ns; }
  bool contains(std::uint64_t queued_ns) const {
    return queued_ns >= first_ns && queued_ns <= last_ns;
  }
};

class DeviceQueue {
public:
  static constexpr std::size_t kMostBios = 65536;

  // The parts of a bio are contiguous; at least one.
  void queue(std::vector<QueuedPart> parts);

  // Removes and returns the parts queued for the bytes from `begin` to `end`, sorted, each byte
  // once. If two bios are queued for a byte, it takes the one queued within `times`. The other
  // stays forever if its completion is missing. Of several such bios it takes the one with the
  // smallest begin, or the earliest. A part that reaches beyond the range is cut, and its rest
  // stays.
  std::vector<QueuedPart> complete(std::uint64_t begin, std::uint64_t end,
                                   const QueueTimes& times = {});

  // Passes each part queued for some of the bytes from `begin` to `end` to `found`.
  template <class Found> void visit(std::uint64_t begin, std::uint64_t end, Found&& found) const {
    for (auto at = bios_.lower_bound(begin - std::min(begin, longest_));
         at != bios_.end() && at->first < end; ++at, ++looks_)
      for (const QueuedPart& part : at->second)
        if (part.begin < end && part.end() > begin)
          found(part);
  }

  // Number of bios examined: a measure of the work that a trace causes.
  std::uint64_t looks() const { return looks_; }

private:
  using Bio = std::vector<QueuedPart>;
  using IsMeant = bool (*)(const Bio& bio, const QueueTimes& times);

  std::vector<QueuedPart> take(std::uint64_t begin, std::uint64_t end, IsMeant is_meant,
                               const QueueTimes& times);

  std::multimap<std::uint64_t, Bio> bios_; // by begin
  mutable std::uint64_t looks_ = 0;
  std::uint64_t longest_ = 0; // of all bios that were ever here, in bytes
};

} // namespace iotrail::trail
