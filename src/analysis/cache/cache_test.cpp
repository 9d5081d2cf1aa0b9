// SPDX-License-Identifier: BSD-3-Clause
//
// The oracles follow the published definitions with lists that they search from end to end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <random>
#include <set>

#include "analysis/cache/miss_curve.hpp"

namespace iotrail::analysis {
namespace {

using Queue = std::deque<Page>; // front: the next to leave

bool has(const Queue& queue, Page page) {
  return std::ranges::find(queue, page) != queue.end();
}
void take(Queue& queue, Page page) {
  queue.erase(std::ranges::find(queue, page));
}
Page pop(Queue& queue) {
  const Page page = queue.front();
  queue.pop_front();
  return page;
}

using Naive = std::function<bool(Page)>;

Naive naive_lru(std::size_t size) {
  return [size, queue = Queue()](Page page) mutable {
    const bool is_hit = has(queue, page);
    if (is_hit)
      take(queue, page);
    else if (queue.size() == size)
      pop(queue);
    queue.push_back(page);
    return is_hit;
  };
}

Naive naive_fifo(std::size_t size) {
  return [size, queue = Queue()](Page page) mutable {
    if (has(queue, page))
      return true;
    if (queue.size() == size)
      pop(queue);
    queue.push_back(page);
    return false;
  };
}

// A ring with a hand, unlike the queue of the simulator.
Naive naive_clock(std::size_t size) {
  struct Frame {
    Page page;
    bool was_used;
  };
  return [size, ring = std::vector<Frame>(), hand = std::size_t{0}](Page page) mutable {
    for (Frame& frame : ring)
      if (frame.page == page) {
        frame.was_used = true;
        return true;
      }
    if (ring.size() < size) {
      ring.push_back({page, false});
      return false;
    }
    for (; ring[hand].was_used; hand = (hand + 1) % size)
      ring[hand].was_used = false;
    ring[hand] = {page, false};
    hand = (hand + 1) % size;
    return false;
  };
}

// Figure 4 of the paper, case by case.
Naive naive_arc(std::size_t size) {
  struct State {
    Queue t1, t2, b1, b2;
    double p = 0;
  };
  return [c = size, s = State()](Page x) mutable {
    const auto replace = [&] {
      const auto t1 = static_cast<double>(s.t1.size());
      if (!s.t1.empty() && ((has(s.b2, x) && t1 == s.p) || t1 > s.p))
        s.b1.push_back(pop(s.t1));
      else
        s.b2.push_back(pop(s.t2));
    };
    const auto size_of = [](const Queue& queue) { return static_cast<double>(queue.size()); };
    for (Queue* queue : {&s.t1, &s.t2})
      if (has(*queue, x)) { // case I
        take(*queue, x);
        s.t2.push_back(x);
        return true;
      }
    if (has(s.b1, x)) { // case II
      s.p = std::min(static_cast<double>(c),
                     s.p + (s.b1.size() >= s.b2.size() ? 1 : size_of(s.b2) / size_of(s.b1)));
      replace();
      take(s.b1, x);
      s.t2.push_back(x);
      return false;
    }
    if (has(s.b2, x)) { // case III
      s.p = std::max(0.0, s.p - (s.b2.size() >= s.b1.size() ? 1 : size_of(s.b1) / size_of(s.b2)));
      replace();
      take(s.b2, x);
      s.t2.push_back(x);
      return false;
    }
    const std::size_t l1 = s.t1.size() + s.b1.size(); // case IV
    const std::size_t all = l1 + s.t2.size() + s.b2.size();
    if (l1 == c && s.t1.size() < c) {
      pop(s.b1);
      replace();
    } else if (l1 == c) {
      pop(s.t1);
    } else if (all >= c) {
      if (all == 2 * c)
        pop(s.b2);
      replace();
    }
    s.t1.push_back(x);
    return false;
  };
}

// Algorithm 1 of the paper.
Naive naive_s3fifo(std::size_t size) {
  struct State {
    Queue small, main, ghosts;
    std::map<Page, int> freq;
  };
  return [size, s = State()](Page x) mutable {
    if (has(s.small, x) || has(s.main, x)) {
      s.freq[x] = std::min(s.freq[x] + 1, 3);
      return true;
    }
    const std::size_t small_size = std::max<std::size_t>(1, size / 10);
    const std::size_t ghosts_size = std::max<std::size_t>(1, size - size / 10);
    while (s.small.size() + s.main.size() >= size)
      if (s.small.size() >= small_size || s.main.empty()) {
        const Page t = pop(s.small);
        if (s.freq[t] > 1) {
          s.freq[t] = 0;
          s.main.push_back(t);
        } else {
          s.ghosts.push_back(t);
          if (s.ghosts.size() > ghosts_size)
            pop(s.ghosts);
        }
      } else {
        const Page t = pop(s.main);
        if (s.freq[t]-- > 0)
          s.main.push_back(t);
      }
    s.freq[x] = 0;
    if (has(s.ghosts, x)) {
      take(s.ghosts, x);
      s.main.push_back(x);
    } else {
      s.small.push_back(x);
    }
    return false;
  };
}

// The rules of the paper, with one list for the stack, from its bottom to its top. Of evicted pages
// as many as the cache has are kept, those that were evicted first leave first.
Naive naive_lirs(std::size_t size) {
  struct State {
    Queue stack, resident, ghosts;
    std::set<Page> lir;
  };
  const std::size_t hirs = std::max<std::size_t>(1, size / 100);
  const std::size_t lirs = size - hirs;
  return [=, s = State()](Page x) mutable {
    const auto prune = [&] {
      while (!s.stack.empty() && !s.lir.contains(s.stack.front())) {
        const Page bottom = pop(s.stack);
        if (has(s.ghosts, bottom))
          take(s.ghosts, bottom);
      }
    };
    const auto to_top = [&] {
      if (has(s.stack, x))
        take(s.stack, x);
      s.stack.push_back(x);
    };
    if (s.lir.contains(x)) {
      to_top();
      prune();
      return true;
    }
    const bool is_hit = has(s.resident, x);
    if (!is_hit && s.lir.size() < lirs) {
      s.lir.insert(x);
      to_top();
      return false;
    }
    const bool was_in_stack = has(s.stack, x);
    if (is_hit) {
      take(s.resident, x);
    } else if (s.resident.size() == hirs) {
      const Page evicted = pop(s.resident);
      if (has(s.stack, evicted))
        s.ghosts.push_back(evicted);
      if (s.ghosts.size() > size) {
        const Page oldest = pop(s.ghosts);
        if (oldest != x)
          take(s.stack, oldest);
      }
    }
    if (has(s.ghosts, x))
      take(s.ghosts, x);
    to_top();
    if (was_in_stack && lirs > 0) {
      s.lir.insert(x);
      const Page bottom = pop(s.stack);
      s.lir.erase(bottom);
      s.resident.push_back(bottom);
    } else {
      s.resident.push_back(x);
    }
    prune();
    return is_hit;
  };
}

std::vector<Page> random_trace(std::mt19937& random) {
  const auto length = 1 + random() % 400;
  const auto pages = 1 + random() % 60;
  const auto kind = random() % 4;
  std::vector<Page> trace;
  for (unsigned i = 0; i < length; ++i) {
    const Page any = random() % pages;
    const Page few = random() % (1 + random() % pages); // mostly small numbers
    trace.push_back(kind == 0           ? any
                    : kind == 1         ? few
                    : kind == 2         ? i % pages
                    : random() % 3 == 0 ? i % pages
                                        : few);
  }
  for (Page& page : trace)
    page += page % 2 == 0 ? 0 : Page{7} << 36U; // of two files
  return trace;
}

TEST(Cache, policies_equal_naive_simulators_on_1000_random_traces) {
  using Make = Naive (*)(std::size_t);
  const std::pair<Policy, Make> policies[] = {
      {Policy::lru, naive_lru}, {Policy::fifo, naive_fifo},     {Policy::clock, naive_clock},
      {Policy::arc, naive_arc}, {Policy::s3fifo, naive_s3fifo}, {Policy::lirs, naive_lirs}};
  std::mt19937 random(28);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<Page> trace = random_trace(random);
    const std::size_t size = 1 + random() % 40;
    for (const auto& [policy, make] : policies) {
      const auto cache = make_simulator(policy, size);
      Naive naive = make(size);
      for (std::size_t i = 0; i < trace.size(); ++i)
        ASSERT_EQ(cache->access(trace[i]), naive(trace[i]))
            << policy_name(policy) << " of " << size << ", access " << i << " of round " << round;
    }
  }
}

TEST(Cache, curve_equals_naive_lru_of_each_size_on_1000_random_traces) {
  std::mt19937 random(29);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<Page> trace = random_trace(random);
    std::vector<bool> reads;
    CacheExperiment experiment({});
    for (const Page page : trace) {
      reads.push_back(random() % 3 != 0);
      experiment.access(page, reads.back());
    }
    for (const std::size_t size : {1U, 2U, 3U, 7U, 20U, 59U, 60U, 1000U}) {
      Naive naive = naive_lru(size);
      double misses = 0;
      double read_misses = 0;
      for (std::size_t i = 0; i < trace.size(); ++i)
        if (!naive(trace[i])) {
          ++misses;
          read_misses += reads[i] ? 1 : 0;
        }
      ASSERT_EQ(experiment.lru_misses(size).all, misses) << size << " in round " << round;
      ASSERT_EQ(experiment.lru_misses(size).reads, read_misses);
      ASSERT_EQ(experiment.lru_error(size).all, 0);
    }
  }
}

// Longer than the tree of times, so that it is renumbered, and pages are forgotten in between.
TEST(Cache, distances_equal_positions_in_a_list) {
  std::mt19937 random(30);
  StackDistance distances;
  std::list<Page> stack;
  for (int i = 0; i < 20000; ++i) {
    const Page page = random() % (1 + random() % 700);
    const auto at = std::ranges::find(stack, page);
    const auto depth = at == stack.end() ? 0 : 1 + std::distance(stack.begin(), at);
    if (random() % 50 == 0) {
      distances.forget(page);
      stack.remove(page);
      continue;
    }
    ASSERT_EQ(distances.access(page), static_cast<std::uint64_t>(depth)) << i;
    stack.remove(page);
    stack.push_front(page);
    ASSERT_EQ(distances.pages(), stack.size());
  }
}

TEST(Cache, page_map_equals_a_map) {
  std::mt19937_64 random(31);
  PageMap pages;
  std::map<Page, std::uint32_t> expected;
  for (int i = 0; i < 100000; ++i) {
    const Page page = random() % 3000;
    if (random() % 3 == 0) {
      pages.erase(page);
      expected.erase(page);
    } else {
      pages.set(page, static_cast<std::uint32_t>(i));
      expected[page] = static_cast<std::uint32_t>(i);
    }
    const Page other = random() % 3000;
    const auto found = expected.find(other);
    ASSERT_EQ(pages.find(other), found == expected.end() ? PageMap::kNone : found->second);
    ASSERT_EQ(pages.size(), expected.size());
  }
}

// Skewed like real caches, with scans: half the accesses go to few pages.
std::vector<Page> long_trace(std::mt19937_64& random, std::size_t length, Page pages) {
  std::vector<Page> trace;
  std::uniform_real_distribution<double> share(0, 1);
  for (std::size_t i = 0; i < length; ++i)
    trace.push_back(
        i % 4 == 0 ? i / 4 % pages
                   : static_cast<Page>(static_cast<double>(pages) * std::pow(share(random), 3)));
  return trace;
}

TEST(Cache, sample_is_as_good_as_it_says) {
  int within = 0;
  int sizes = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::mt19937_64 random(seed);
    constexpr Page kPages = 40000;
    const std::vector<Page> trace = long_trace(random, 300000, kPages);
    PageCounter counter(8000);
    for (const Page page : trace)
      counter.access(page);
    EXPECT_LT(counter.sample().share(), 0.3);
    const auto distinct = static_cast<double>(std::set<Page>(trace.begin(), trace.end()).size());
    EXPECT_NEAR(static_cast<double>(counter.pages()), distinct, 0.05 * distinct);
    CacheExperiment exact({});
    CacheExperiment sampled(
        {.sample = counter.sample(), .sizes = {4000}, .policies = {Policy::fifo}});
    CacheExperiment fifo({.sizes = {4000}, .policies = {Policy::fifo}});
    for (const Page page : trace) {
      exact.access(page, true);
      sampled.access(page, true);
      fifo.access(page, true);
    }
    for (std::uint64_t size = 500; size < kPages; size *= 2) {
      const double truth = exact.lru_misses(size).all / static_cast<double>(trace.size());
      const double guess = sampled.lru_misses(size).all / static_cast<double>(trace.size());
      ++sizes;
      within += std::abs(truth - guess) <= sampled.lru_error(size).all ? 1 : 0;
      EXPECT_NEAR(guess, truth, 0.05);
      EXPECT_LT(sampled.lru_error(size).all, 0.1);
    }
    EXPECT_NEAR(sampled.misses(Policy::fifo, 4000)->all, fifo.misses(Policy::fifo, 4000)->all,
                0.05 * static_cast<double>(trace.size()));
  }
  EXPECT_GE(within, sizes * 8 / 10);
}

TEST(Cache, counter_stays_within_its_memory) {
  PageCounter counter(4000);
  for (Page page = 0; page < 3000000; ++page)
    counter.access(page);
  EXPECT_EQ(counter.accesses(), 3000000U);
  EXPECT_NEAR(static_cast<double>(counter.pages()), 3e6, 3e5);
  EXPECT_LE(counter.sample().share(), 1.0 / 512);
}

} // namespace
} // namespace iotrail::analysis
