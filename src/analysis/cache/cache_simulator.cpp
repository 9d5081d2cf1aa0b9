// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/cache/cache_simulator.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/cache/page_lists.hpp"

namespace iotrail::analysis {

namespace {

constexpr std::string_view kPolicies[] = {"lru", "fifo", "clock", "arc", "s3fifo", "lirs"};

// Evicts the page that was accessed longest ago.
class Lru final : public CacheSimulator {
public:
  explicit Lru(std::size_t pages) : most_(pages) {}
  bool access(Page page) override {
    const bool is_hit = pages_.list_of(page) == 0;
    pages_.push(0, page);
    if (pages_.size(0) > most_)
      pages_.drop(pages_.oldest(0));
    return is_hit;
  }

private:
  std::size_t most_;
  PageLists<1> pages_;
};

// Evicts the page that came in first.
class Fifo final : public CacheSimulator {
public:
  explicit Fifo(std::size_t pages) : most_(pages) {}
  bool access(Page page) override {
    if (pages_.list_of(page) == 0)
      return true;
    if (pages_.size(0) == most_)
      pages_.drop(pages_.oldest(0));
    pages_.push(0, page);
    return false;
  }

private:
  std::size_t most_;
  PageLists<1> pages_;
};

// FIFO that gives each page accessed since it last came by a second chance. Equals the clock with a
// hand: the page under the hand is the oldest.
class Clock final : public CacheSimulator {
public:
  explicit Clock(std::size_t pages) : most_(pages) {}
  bool access(Page page) override {
    if (pages_.list_of(page) == 0) {
      pages_.mark(page) = 1;
      return true;
    }
    if (pages_.size(0) == most_)
      evict();
    pages_.push(0, page);
    return false;
  }

private:
  void evict() {
    while (pages_.mark(pages_.oldest(0)) != 0) {
      const Page second_chance = pages_.oldest(0);
      pages_.mark(second_chance) = 0;
      pages_.push(0, second_chance);
    }
    pages_.drop(pages_.oldest(0));
  }

  std::size_t most_;
  PageLists<1> pages_;
};

// Adapts between pages seen once and pages seen again by which of the two it should not have evicted
// (Megiddo and Modha, FAST 2003, figure 4; the names are theirs).
class Arc final : public CacheSimulator {
public:
  explicit Arc(std::size_t pages) : c_(pages) {}
  bool access(Page page) override {
    const std::size_t list = pages_.list_of(page);
    if (list == kT1 || list == kT2) {
      pages_.push(kT2, page);
      return true;
    }
    if (list == kB1 || list == kB2) {
      adapt(list);
      replace(list == kB2);
      pages_.push(kT2, page);
      return false;
    }
    make_room();
    pages_.push(kT1, page);
    return false;
  }

private:
  static constexpr std::size_t kT1 = 0;
  static constexpr std::size_t kT2 = 1;
  static constexpr std::size_t kB1 = 2;
  static constexpr std::size_t kB2 = 3;

  std::size_t size(std::size_t list) const { return pages_.size(list); }

  void adapt(std::size_t ghost) {
    const std::size_t other = ghost == kB1 ? kB2 : kB1;
    const double step =
        std::max(1.0, static_cast<double>(size(other)) / static_cast<double>(size(ghost)));
    p_ = ghost == kB1 ? std::min(static_cast<double>(c_), p_ + step) : std::max(0.0, p_ - step);
  }

  void replace(bool is_in_b2) {
    const auto t1 = static_cast<double>(size(kT1));
    const bool from_t1 = t1 > 0 && (t1 > p_ || (is_in_b2 && t1 == p_));
    const std::size_t from = from_t1 ? kT1 : kT2;
    pages_.push(from_t1 ? kB1 : kB2, pages_.oldest(from));
  }

  void make_room() {
    if (size(kT1) + size(kB1) == c_) {
      if (size(kT1) == c_) {
        pages_.drop(pages_.oldest(kT1));
        return;
      }
      pages_.drop(pages_.oldest(kB1));
      replace(false);
      return;
    }
    const std::size_t all = size(kT1) + size(kT2) + size(kB1) + size(kB2);
    if (all < c_)
      return;
    if (all == 2 * c_)
      pages_.drop(pages_.oldest(kB2));
    replace(false);
  }

  std::size_t c_;
  double p_ = 0; // the part of c that T1 should have
  PageLists<4> pages_;
};

// A small queue for new pages, a main queue for those accessed there again, and a queue of pages that
// have left the small one (Yang and others, SOSP 2023, algorithm 1).
class S3Fifo final : public CacheSimulator {
public:
  explicit S3Fifo(std::size_t pages)
      : most_(pages), most_small_(std::max<std::size_t>(1, pages / kSmallPart)),
        most_ghosts_(std::max<std::size_t>(1, pages - pages / kSmallPart)) {}
  bool access(Page page) override {
    const std::size_t list = pages_.list_of(page);
    if (list == kSmall || list == kMain) {
      std::uint8_t& mark = pages_.mark(page);
      mark = std::min<std::uint8_t>(kMostMarks, mark + 1U);
      return true;
    }
    while (pages_.size(kSmall) + pages_.size(kMain) >= most_)
      evict();
    // The eviction may have dropped the page from the ghosts.
    const bool was_ghost = pages_.list_of(page) == kGhost;
    pages_.push(was_ghost ? kMain : kSmall, page);
    pages_.mark(page) = 0;
    return false;
  }

private:
  static constexpr std::size_t kSmall = 0;
  static constexpr std::size_t kMain = 1;
  static constexpr std::size_t kGhost = 2;
  static constexpr std::size_t kSmallPart = 10;
  static constexpr std::uint8_t kMostMarks = 3;

  void evict() {
    if (pages_.size(kSmall) >= most_small_ || pages_.size(kMain) == 0)
      evict_small();
    else
      evict_main();
  }

  void evict_small() {
    const Page page = pages_.oldest(kSmall);
    if (pages_.mark(page) > 1) {
      pages_.push(kMain, page);
      pages_.mark(page) = 0;
      return;
    }
    pages_.push(kGhost, page);
    if (pages_.size(kGhost) > most_ghosts_)
      pages_.drop(pages_.oldest(kGhost));
  }

  void evict_main() {
    const Page page = pages_.oldest(kMain);
    std::uint8_t& mark = pages_.mark(page);
    if (mark == 0) {
      pages_.drop(page);
      return;
    }
    --mark;
    pages_.push(kMain, page);
  }

  std::size_t most_;
  std::size_t most_small_;
  std::size_t most_ghosts_;
  PageLists<3> pages_;
};

// Keeps pages by the time between their last two accesses, which the stack shows: those with a short
// one are LIR and never evicted, the others are HIR (Jiang and Zhang, SIGMETRICS 2002; the names are
// theirs). Evicted pages stay in the stack until a LIR page below them leaves, or there are as many
// as the cache has pages.
class Lirs final : public CacheSimulator {
public:
  explicit Lirs(std::size_t pages)
      : most_(pages), most_hir_(std::max<std::size_t>(1, pages / kHirPart)),
        most_lir_(pages - most_hir_) {}

  bool access(Page page) override {
    if (is_lir(page)) {
      stack_.push(0, page);
      prune();
      return true;
    }
    const bool is_hit = others_.list_of(page) == kResident;
    const bool is_in_stack = stack_.list_of(page) == 0;
    if (!is_hit && lirs_ < most_lir_) {
      make_lir(page);
      return false;
    }
    if (!is_hit && others_.size(kResident) == most_hir_)
      evict(page);
    if (is_in_stack && most_lir_ > 0) {
      make_lir(page);
      demote();
    } else {
      stack_.push(0, page);
      others_.push(kResident, page);
      prune();
    }
    return is_hit;
  }

private:
  static constexpr std::size_t kResident = 0; // HIR pages in the cache
  static constexpr std::size_t kGhost = 1;    // evicted ones that are in the stack
  static constexpr std::size_t kHirPart = 100;

  bool is_lir(Page page) { return stack_.list_of(page) == 0 && stack_.mark(page) != 0; }

  void make_lir(Page page) {
    others_.drop(page);
    stack_.push(0, page);
    stack_.mark(page) = 1;
    ++lirs_;
  }

  // The LIR page at the stack's bottom becomes a HIR page out of the stack.
  void demote() {
    const Page page = stack_.oldest(0);
    stack_.drop(page);
    --lirs_;
    others_.push(kResident, page);
    prune();
  }

  // The bottom of the stack is a LIR page.
  void prune() {
    while (stack_.size(0) > 0 && stack_.mark(stack_.oldest(0)) == 0) {
      const Page page = stack_.oldest(0);
      stack_.drop(page);
      if (others_.list_of(page) == kGhost)
        others_.drop(page);
    }
  }

  // `page` takes the room, and must not be forgotten.
  void evict(Page page) {
    const Page evicted = others_.oldest(kResident);
    if (stack_.list_of(evicted) != 0) {
      others_.drop(evicted);
      return;
    }
    others_.push(kGhost, evicted);
    if (others_.size(kGhost) <= most_)
      return;
    const Page oldest = others_.oldest(kGhost);
    others_.drop(oldest);
    if (oldest != page)
      stack_.drop(oldest);
  }

  std::size_t most_;
  std::size_t most_hir_;
  std::size_t most_lir_;
  std::size_t lirs_ = 0;
  PageLists<1> stack_; // LIR pages have the mark 1
  PageLists<2> others_;
};

} // namespace

std::optional<Policy> policy_of(std::string_view name) {
  const auto* found = std::ranges::find(kPolicies, name);
  if (found == std::end(kPolicies))
    return std::nullopt;
  return static_cast<Policy>(found - std::begin(kPolicies));
}

std::string_view policy_name(Policy policy) {
  return kPolicies[static_cast<std::size_t>(policy)];
}

std::string policy_names() {
  return fmt::format("{}", fmt::join(kPolicies, ", "));
}

std::unique_ptr<CacheSimulator> make_simulator(Policy policy, std::size_t pages) {
  switch (policy) {
  case Policy::fifo:
    return std::make_unique<Fifo>(pages);
  case Policy::clock:
    return std::make_unique<Clock>(pages);
  case Policy::arc:
    return std::make_unique<Arc>(pages);
  case Policy::s3fifo:
    return std::make_unique<S3Fifo>(pages);
  case Policy::lirs:
    return std::make_unique<Lirs>(pages);
  case Policy::lru:
    break;
  }
  return std::make_unique<Lru>(pages);
}

} // namespace iotrail::analysis
