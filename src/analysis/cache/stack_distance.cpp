// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/cache/stack_distance.hpp"

#include <algorithm>
#include <utility>

namespace iotrail::analysis {

namespace {

constexpr std::size_t kFirstTimes = 1024;

std::uint32_t lowest_bit(std::uint32_t number) {
  return number & (~number + 1);
}

} // namespace

StackDistance::StackDistance() : tree_(kFirstTimes + 1) {}

std::uint64_t StackDistance::access(Page page) {
  if (now_ + 1 == tree_.size())
    renumber();
  const std::uint32_t before = last_.find(page);
  std::uint64_t distance = 0;
  if (before != PageMap::kNone) {
    distance = last_.size() - marks_up_to(before) + 1;
    mark(before, false);
  }
  mark(++now_, true);
  last_.set(page, now_);
  return distance;
}

void StackDistance::forget(Page page) {
  const std::uint32_t time = last_.find(page);
  if (time == PageMap::kNone)
    return;
  mark(time, false);
  last_.erase(page);
}

std::vector<Page> StackDistance::known_pages() {
  std::vector<Page> pages;
  pages.reserve(last_.size());
  last_.for_each([&](Page page, std::uint32_t) { pages.push_back(page); });
  return pages;
}

void StackDistance::mark(std::uint32_t time, bool is_last) {
  for (std::uint32_t at = time; at < tree_.size(); at += lowest_bit(at))
    tree_[at] += is_last ? 1U : UINT32_MAX; // adds or subtracts 1
}

std::uint32_t StackDistance::marks_up_to(std::uint32_t time) const {
  std::uint32_t marks = 0;
  for (std::uint32_t at = time; at > 0; at -= lowest_bit(at))
    marks += tree_[at];
  return marks;
}

void StackDistance::renumber() {
  std::vector<std::pair<std::uint32_t, Page>> order;
  order.reserve(last_.size());
  last_.for_each([&](Page page, std::uint32_t time) { order.emplace_back(time, page); });
  std::ranges::sort(order);
  tree_.assign(std::max(kFirstTimes, 2 * order.size()) + 1, 0);
  now_ = 0;
  for (const auto& [time, page] : order) {
    mark(++now_, true);
    last_.set(page, now_);
  }
}

} // namespace iotrail::analysis
