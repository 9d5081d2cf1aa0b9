// SPDX-License-Identifier: BSD-3-Clause
//
// A set of bytes of a file, as ranges that neither overlap nor touch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace iotrail::replay {

class Ranges {
public:
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end)
      return;
    auto next = ranges_.lower_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second >= begin)
      --next;
    for (; next != ranges_.end() && next->first <= end; next = ranges_.erase(next)) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
    }
    ranges_.emplace(begin, end);
  }

  // Calls `each(begin, end)` for the parts of the range that are not in the set.
  template <class Each>
  void for_each_gap(std::uint64_t begin, std::uint64_t end, const Each& each) const {
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin())
      begin = std::max(begin, std::prev(next)->second);
    for (; begin < end && next != ranges_.end() && next->first < end; ++next) {
      if (begin < next->first)
        each(begin, next->first);
      begin = next->second;
    }
    if (begin < end)
      each(begin, end);
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [begin, end] : ranges_)
      sum += end - begin;
    return sum;
  }
  std::uint64_t end() const { return ranges_.empty() ? 0 : ranges_.rbegin()->second; }
  bool empty() const { return ranges_.empty(); }

  auto begin_of_ranges() const { return ranges_.begin(); }
  auto end_of_ranges() const { return ranges_.end(); }

private:
  std::map<std::uint64_t, std::uint64_t> ranges_; // begin, end
};

} // namespace iotrail::replay
