// SPDX-License-Identifier: BSD-3-Clause
#include "replay/order.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <utility>

namespace iotrail::replay {
namespace {

// Actions that follow one another.
struct Lane {
  std::vector<std::uint32_t> actions;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

std::vector<Lane> lanes_of(const Plan& plan, std::uint64_t& threads) {
  std::vector<Lane> lanes;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> lanes_of_thread;
  for (std::uint32_t i = 0; i < plan.actions.size(); ++i) {
    const Action& action = plan.actions[i];
    auto& own = lanes_of_thread[action.tid];
    const auto free = std::ranges::find_if(
        own, [&](std::size_t lane) { return lanes[lane].end_ns <= action.begin_ns; });
    const bool is_full = free == own.end() && own.size() > kThreadsMost; // run() will refuse
    const std::size_t lane = free != own.end() ? *free : is_full ? own.front() : lanes.size();
    if (lane == lanes.size()) {
      own.push_back(lane);
      lanes.push_back({.actions = {}, .begin_ns = action.begin_ns});
    }
    lanes[lane].actions.push_back(i);
    lanes[lane].end_ns = std::max(lanes[lane].end_ns, action.end_ns);
  }
  threads = lanes_of_thread.size();
  return lanes;
}

} // namespace

Workers share_out(const Plan& plan) {
  Workers workers;
  std::vector<Lane> lanes = lanes_of(plan, workers.threads);
  using Free = std::pair<std::uint64_t, std::size_t>; // from this time on, the worker
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  for (Lane& lane : lanes) { // in the order of their begin
    std::size_t worker = workers.actions.size();
    if (!free.empty() && free.top().first < lane.begin_ns) {
      worker = free.top().second;
      free.pop();
      auto& actions = workers.actions[worker];
      actions.insert(actions.end(), lane.actions.begin(), lane.actions.end());
    } else {
      workers.actions.push_back(std::move(lane.actions));
    }
    free.emplace(lane.end_ns, worker);
  }
  return workers;
}

EndOrder::EndOrder(const Plan& plan)
    : rank_of_(plan.actions.size()), waits_for_(plan.actions.size()),
      is_over_(plan.actions.size()) {
  std::vector<std::uint32_t> by_end(plan.actions.size());
  std::iota(by_end.begin(), by_end.end(), 0U);
  const auto end_of = [&](std::uint32_t i) { return plan.actions[i].end_ns; };
  std::ranges::sort(by_end, {}, [&](std::uint32_t i) { return std::pair(end_of(i), i); });
  for (std::uint32_t rank = 0; rank < by_end.size(); ++rank)
    rank_of_[by_end[rank]] = rank;
  for (std::size_t i = 0; i < plan.actions.size(); ++i)
    waits_for_[i] = static_cast<std::uint32_t>(
        std::ranges::lower_bound(by_end, plan.actions[i].begin_ns, {}, end_of) - by_end.begin());
}

void EndOrder::wait_for_turn(std::uint32_t action) {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return over_ >= waits_for_[action]; });
}

void EndOrder::end(std::uint32_t action) {
  const std::lock_guard lock(mutex_);
  is_over_[rank_of_[action]] = true;
  const std::uint32_t before = over_;
  while (over_ < is_over_.size() && is_over_[over_])
    ++over_;
  if (over_ != before)
    ended_.notify_all();
}

} // namespace iotrail::replay
