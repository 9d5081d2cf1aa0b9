// SPDX-License-Identifier: BSD-3-Clause
#include "trail/state/device_queue.hpp"

#include <algorithm>

namespace iotrail::trail {

namespace {

// The parts of a bio between `begin` and `end`.
std::vector<QueuedPart> cut(const std::vector<QueuedPart>& bio, std::uint64_t begin,
                            std::uint64_t end) {
  std::vector<QueuedPart> parts;
  for (const QueuedPart& part : bio) {
    const std::uint64_t from = std::max(part.begin, begin);
    const std::uint64_t to = std::min(part.end(), end);
    if (from < to)
      parts.push_back(
          {.begin = from, .bytes = to - from, .link = part.link, .queued_ns = part.queued_ns});
  }
  return parts;
}

} // namespace

void DeviceQueue::queue(Bio parts) {
  const std::uint64_t begin = parts.front().begin;
  longest_ = std::max(longest_, parts.back().end() - begin);
  bios_.emplace(begin, std::move(parts));
  if (bios_.size() > kMostBios)
    bios_.erase(bios_.begin());
}

std::vector<QueuedPart> DeviceQueue::complete(std::uint64_t begin, std::uint64_t end,
                                              const QueueTimes& times) {
  const IsMeant is_of_its_time = [](const Bio& bio, const QueueTimes& of_request) {
    return of_request.contains(bio.front().queued_ns);
  };
  const IsMeant is_any = [](const Bio&, const QueueTimes&) { return true; };
  if (!times.are_known())
    return take(begin, end, is_any, times);
  std::vector<QueuedPart> completed;
  std::uint64_t reached = begin;
  const auto add = [&](const std::vector<QueuedPart>& parts) {
    completed.insert(completed.end(), parts.begin(), parts.end());
  };
  for (const QueuedPart& part : take(begin, end, is_of_its_time, times)) {
    if (reached < part.begin)
      add(take(reached, part.begin, is_any, times));
    completed.push_back(part);
    reached = part.end();
  }
  if (reached < end)
    add(take(reached, end, is_any, times));
  return completed;
}

std::vector<QueuedPart> DeviceQueue::take(std::uint64_t begin, std::uint64_t end, IsMeant is_meant,
                                          const QueueTimes& times) {
  std::vector<QueuedPart> taken;
  std::vector<Bio> rests;
  std::uint64_t reached = begin;
  bool is_ambiguous = false;
  for (auto at = bios_.lower_bound(begin - std::min(begin, longest_));
       at != bios_.end() && at->first < end;) {
    const Bio& bio = at->second;
    ++looks_;
    if (!is_meant(bio, times)) {
      ++at;
      continue;
    }
    is_ambiguous |= bio.front().begin < reached && bio.back().end() > begin && reached > begin;
    if (bio.back().end() <= reached || reached == end) {
      ++at;
      continue;
    }
    const std::uint64_t from = std::max(reached, bio.front().begin);
    reached = std::min(end, bio.back().end());
    std::ranges::copy(cut(bio, from, reached), std::back_inserter(taken));
    rests.push_back(cut(bio, 0, from));
    rests.push_back(cut(bio, reached, UINT64_MAX));
    at = bios_.erase(at);
  }
  for (QueuedPart& part : taken)
    part.is_ambiguous = is_ambiguous;
  for (Bio& rest : rests)
    if (!rest.empty())
      bios_.emplace(rest.front().begin, std::move(rest));
  return taken;
}

} // namespace iotrail::trail
