// SPDX-License-Identifier: BSD-3-Clause
//
// Values by ranges of bytes that do not overlap. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace iotrail::trail {

template <class Value> class RangeMap {
public:
  bool is_empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  // The begin of the first range; it must not be empty.
  std::uint64_t first() const { return entries_.begin()->first; }

  // Removes everything between `begin` and `end`, and passes each part to taken(begin, end, value),
  // in order.
  template <class Taken> void take(std::uint64_t begin, std::uint64_t end, Taken&& taken) {
    for (auto at = first_beyond(begin); at != entries_.end() && at->first < end;) {
      const std::uint64_t entry_begin = at->first;
      const Entry entry = at->second;
      at = entries_.erase(at);
      if (entry_begin < begin)
        entries_.emplace(entry_begin, Entry{begin, entry.value});
      if (entry.end > end)
        at = entries_.emplace(end, Entry{entry.end, entry.value}).first;
      taken(std::max(begin, entry_begin), std::min(end, entry.end), entry.value);
    }
  }

  // The range must be empty: call take() first, or fill(). Extends a preceding range with the same
  // value.
  void put(std::uint64_t begin, std::uint64_t end, const Value& value) {
    if (begin >= end)
      return;
    auto after = entries_.lower_bound(begin);
    if (after != entries_.begin())
      if (auto before = std::prev(after);
          before->second.end == begin && before->second.value == value) {
        before->second.end = end;
        return;
      }
    entries_.emplace_hint(after, begin, Entry{end, value});
  }

  // Calls gap(begin, end) for each empty part between `begin` and `end`, in order.
  template <class Gap> void visit_gaps(std::uint64_t begin, std::uint64_t end, Gap&& gap) const {
    std::uint64_t reached = begin;
    for (auto at = first_beyond(begin); at != entries_.end() && at->first < end; ++at) {
      if (at->first > reached)
        gap(reached, at->first);
      reached = at->second.end;
    }
    if (reached < end)
      gap(reached, end);
  }

  // Puts the value into all empty parts. Returns the number of entries passed.
  std::size_t fill(std::uint64_t begin, std::uint64_t end, const Value& value) {
    std::size_t passed = 0;
    std::uint64_t reached = begin;
    for (auto at = first_beyond(begin); at != entries_.end() && at->first < end;) {
      const std::uint64_t gap_end = at->first;
      const std::uint64_t next = at->second.end;
      ++at;
      ++passed;
      put(reached, std::max(reached, gap_end), value);
      reached = next;
    }
    put(reached, std::max(reached, end), value);
    return passed;
  }

  // Calls found(begin, end, value) for each part between `begin` and `end`, in order.
  template <class Found> void visit(std::uint64_t begin, std::uint64_t end, Found&& found) const {
    for (auto at = first_beyond(begin); at != entries_.end() && at->first < end; ++at)
      found(std::max(begin, at->first), std::min(end, at->second.end), at->second.value);
  }

private:
  struct Entry {
    std::uint64_t end;
    Value value;
  };
  using Entries = std::map<std::uint64_t, Entry>; // by begin

  // The first entry that ends after `begin`.
  template <class Self> static auto find_beyond(Self& entries, std::uint64_t begin) {
    auto at = entries.lower_bound(begin);
    if (at == entries.begin())
      return at;
    auto before = std::prev(at);
    return before->second.end > begin ? before : at;
  }
  auto first_beyond(std::uint64_t begin) { return find_beyond(entries_, begin); }
  auto first_beyond(std::uint64_t begin) const { return find_beyond(entries_, begin); }

  Entries entries_;
};

} // namespace iotrail::trail
