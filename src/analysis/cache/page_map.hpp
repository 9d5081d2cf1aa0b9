// SPDX-License-Identifier: BSD-3-Clause
//
// A hash map from pages to numbers of 32 bits, in 12 bytes a slot. The maps of the standard library take five times
// as much memory, which decides how many pages a curve can be exact for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace iotrail::analysis {

using Page = std::uint64_t; // a page of a file, as one number; kNoPage is none
inline constexpr Page kNoPage = UINT64_MAX;

// A bijection that spreads pages over all numbers (the finalizer of MurmurHash3).
constexpr std::uint64_t mixed(Page page) {
  std::uint64_t hash = page;
  hash = (hash ^ hash >> 33U) * 0xff51afd7ed558ccdU;
  hash = (hash ^ hash >> 33U) * 0xc4ceb9fe1a85ec53U;
  return hash ^ hash >> 33U;
}

class PageMap {
public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  PageMap() : pages_(kSmallest, kNoPage), numbers_(kSmallest) {}

  std::size_t size() const { return size_; }

  std::uint32_t find(Page page) const { // kNone: not in it
    const std::size_t at = slot_of(page);
    return pages_[at] == page ? numbers_[at] : kNone;
  }

  void set(Page page, std::uint32_t number) {
    std::size_t at = slot_of(page);
    if (pages_[at] != page) {
      if (++size_ > pages_.size() / 4 * 3) {
        grow();
        at = slot_of(page);
      }
      pages_[at] = page;
    }
    numbers_[at] = number;
  }

  // Moves pages that follow into the gap, so that the searches for them still end at them.
  void erase(Page page) {
    std::size_t gap = slot_of(page);
    if (pages_[gap] != page)
      return;
    --size_;
    const std::size_t mask = pages_.size() - 1;
    for (std::size_t at = (gap + 1) & mask; pages_[at] != kNoPage; at = (at + 1) & mask) {
      const std::size_t home = mixed(pages_[at]) & mask;
      if (((at - home) & mask) < ((at - gap) & mask))
        continue;
      pages_[gap] = pages_[at];
      numbers_[gap] = numbers_[at];
      gap = at;
    }
    pages_[gap] = kNoPage;
  }

  // Calls `visit(page, number)` for each page, in no order; the number may be changed.
  template <class Visit> void for_each(const Visit& visit) {
    for (std::size_t at = 0; at < pages_.size(); ++at)
      if (pages_[at] != kNoPage)
        visit(pages_[at], numbers_[at]);
  }

private:
  static constexpr std::size_t kSmallest = 64; // a power of two

  // Where the page is, or the free slot where it belongs.
  std::size_t slot_of(Page page) const {
    const std::size_t mask = pages_.size() - 1;
    std::size_t at = mixed(page) & mask;
    while (pages_[at] != page && pages_[at] != kNoPage)
      at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Page> pages(pages_.size() * 2, kNoPage);
    std::vector<std::uint32_t> numbers(numbers_.size() * 2);
    pages.swap(pages_);
    numbers.swap(numbers_);
    for (std::size_t at = 0; at < pages.size(); ++at)
      if (pages[at] != kNoPage) {
        const std::size_t to = slot_of(pages[at]);
        pages_[to] = pages[at];
        numbers_[to] = numbers[at];
      }
  }

  std::vector<Page> pages_;
  std::vector<std::uint32_t> numbers_;
  std::size_t size_ = 0;
};

} // namespace iotrail::analysis
