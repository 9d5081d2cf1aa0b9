// SPDX-License-Identifier: BSD-3-Clause
//
// The bios of one device between their queueing and the completion of the request that carries them, found by the
// sectors that they are for: however they are split, merged or completed in parts, bytes are those of the bio that was
// queued for their place. Bounded: of too many, as on a mapped device whose own requests never complete, those nearest
// to the device's begin are forgotten, and their completion finds nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace iotrail::trail {

// Bytes of a bio that have one link, from `begin` on, in bytes from the device's begin.
struct QueuedPart {
  std::uint64_t begin;
  std::uint64_t bytes;
  std::size_t link; // its place among the links
  std::uint64_t queued_ns = 0;
  bool is_ambiguous =
      false; // of what is completed: other bios are queued for places in the request

  std::uint64_t end() const { return begin + bytes; }
};

// When the bios of a request were queued, both ends included: what was queued for its place at another time is not of it.
struct QueueTimes {
  std::uint64_t first_ns = 1; // none, unless told
  std::uint64_t last_ns = 0;

  bool are_known() const { return first_ns <= last_ns; }
  bool contains(std::uint64_t queued_ns) const {
    return queued_ns >= first_ns && queued_ns <= last_ns;
  }
};

class DeviceQueue {
public:
  static constexpr std::size_t kMostBios = 65536;

  // The parts of a bio follow each other without a gap; at least one.
  void queue(std::vector<QueuedPart> parts);

  // Removes and returns what is queued for the bytes from `begin` to `end`, in order, each byte once. Where two bios are queued
  // for it, one of those `times` is meant (the completion of another may not be in the trace, and it stays for ever), and of these the
  // one that begins first, or came first. A part that reaches beyond is cut, and its rest stays.
  std::vector<QueuedPart> complete(std::uint64_t begin, std::uint64_t end,
                                   const QueueTimes& times = {});

  // Hands over each part of what is queued for some of the bytes from `begin` to `end`.
  template <class Found> void visit(std::uint64_t begin, std::uint64_t end, Found&& found) const {
    for (auto at = bios_.lower_bound(begin - std::min(begin, longest_));
         at != bios_.end() && at->first < end; ++at, ++looks_)
      for (const QueuedPart& part : at->second)
        if (part.begin < end && part.end() > begin)
          found(part);
  }

  // At how many bios it has looked: what a trace may cost.
  std::uint64_t looks() const { return looks_; }

private:
  using Bio = std::vector<QueuedPart>;
  using IsMeant = bool (*)(const Bio& bio, const QueueTimes& times);

  std::vector<QueuedPart> take(std::uint64_t begin, std::uint64_t end, IsMeant is_meant,
                               const QueueTimes& times);

  std::multimap<std::uint64_t, Bio> bios_; // by begin
  mutable std::uint64_t looks_ = 0;
  std::uint64_t longest_ = 0; // of the bios that ever were here, in bytes
};

} // namespace iotrail::trail
