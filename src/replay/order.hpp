// SPDX-License-Identifier: BSD-3-Clause
//
// Which actions each worker thread makes, and what each of them waits for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "replay/plan.hpp"

namespace iotrail::replay {

inline constexpr std::size_t kThreadsMost = 2048; // of a replay

// Actions of a recorded thread, one after another. Asynchronous operations of a thread that were in
// flight at the same time are in several lists. Lists that do not overlap in time share a worker.
struct Workers {
  std::vector<std::vector<std::uint32_t>> actions; // positions in Plan::actions, by worker
  std::uint64_t threads = 0;                       // recorded ones
};
Workers share_out(const Plan& plan);

// An action waits until all those are over that had ended before it began.
class EndOrder {
public:
  explicit EndOrder(const Plan& plan);

  void wait_for_turn(std::uint32_t action);
  void end(std::uint32_t action);

private:
  std::vector<std::uint32_t> rank_of_;   // of each action, by its recorded end
  std::vector<std::uint32_t> waits_for_; // so many of the first ends
  std::vector<bool> is_over_;            // by rank
  std::uint32_t over_ = 0;               // all ranks below are over
  std::mutex mutex_;                     // guards the two before it
  std::condition_variable ended_;
};

} // namespace iotrail::replay
