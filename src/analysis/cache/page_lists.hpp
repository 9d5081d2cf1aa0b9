// SPDX-License-Identifier: BSD-3-Clause
//
// Queues of pages that share one map: a page is in at most one of them. All steps take constant time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/cache/page_map.hpp"

namespace iotrail::analysis {

template <std::size_t kLists> class PageLists {
public:
  static constexpr std::size_t kNowhere = kLists;

  PageLists() { ends_.fill({PageMap::kNone, PageMap::kNone, 0}); }

  std::size_t list_of(Page page) const { // kNowhere: in none
    const std::uint32_t at = nodes_of_.find(page);
    return at == PageMap::kNone ? kNowhere : nodes_[at].list;
  }
  std::size_t size(std::size_t list) const { return ends_[list].size; }
  std::uint8_t& mark(Page page) { return nodes_[nodes_of_.find(page)].mark; } // of a page in a list
  Page oldest(std::size_t list) const { // of a list with pages
    return nodes_[ends_[list].oldest].page;
  }

  // Puts the page at the new end of the list, out of the list it was in; keeps its mark, at first 0.
  void push(std::size_t list, Page page) {
    std::uint32_t at = nodes_of_.find(page);
    if (at == PageMap::kNone) {
      at = new_node();
      nodes_[at] = {.page = page};
      nodes_of_.set(page, at);
    } else {
      unlink(at);
    }
    Ends& ends = ends_[list];
    nodes_[at].list = static_cast<std::uint8_t>(list);
    nodes_[at].older = ends.newest;
    nodes_[at].newer = PageMap::kNone;
    (ends.newest == PageMap::kNone ? ends.oldest : nodes_[ends.newest].newer) = at;
    ends.newest = at;
    ++ends.size;
  }

  void drop(Page page) {
    const std::uint32_t at = nodes_of_.find(page);
    if (at == PageMap::kNone)
      return;
    unlink(at);
    nodes_of_.erase(page);
    free_.push_back(at);
  }

private:
  struct Node {
    Page page = kNoPage;
    std::uint32_t older = PageMap::kNone;
    std::uint32_t newer = PageMap::kNone;
    std::uint8_t list = 0;
    std::uint8_t mark = 0;
  };
  struct Ends {
    std::uint32_t oldest;
    std::uint32_t newest;
    std::size_t size;
  };

  std::uint32_t new_node() {
    if (free_.empty()) {
      nodes_.emplace_back();
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t at = free_.back();
    free_.pop_back();
    return at;
  }

  void unlink(std::uint32_t at) {
    Ends& ends = ends_[nodes_[at].list];
    const Node& node = nodes_[at];
    (node.older == PageMap::kNone ? ends.oldest : nodes_[node.older].newer) = node.newer;
    (node.newer == PageMap::kNone ? ends.newest : nodes_[node.newer].older) = node.older;
    --ends.size;
  }

  PageMap nodes_of_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_;
  std::array<Ends, kLists> ends_{};
};

} // namespace iotrail::analysis
