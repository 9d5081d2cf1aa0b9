// SPDX-License-Identifier: BSD-3-Clause
//
// Stack distances: for each access of a page, how many distinct pages were accessed since the last
// one, itself included. An LRU cache of that many pages serves it, and no smaller one does. So one
// pass gives the misses of all sizes (Mattson 1970). O(log n) an access, by a Fenwick tree over the
// times of last accesses, which is renumbered when it is full.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/cache/page_map.hpp"

namespace iotrail::analysis {

class StackDistance {
public:
  StackDistance();

  // The distance, 1 or more; 0: the first access of the page.
  std::uint64_t access(Page page);

  // Forgets a page, as if it had never been accessed.
  void forget(Page page);

  std::size_t pages() const { return last_.size(); }
  std::vector<Page> known_pages(); // in no order

private:
  void mark(std::uint32_t time, bool is_last); // adds or removes the last access of a page
  std::uint32_t marks_up_to(std::uint32_t time) const;
  void renumber(); // gives the last accesses the first times

  PageMap last_;                    // the time of each page's last access, from 1 on
  std::vector<std::uint32_t> tree_; // of the marks at times
  std::uint32_t now_ = 0;
};

} // namespace iotrail::analysis
