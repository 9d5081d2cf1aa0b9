// SPDX-License-Identifier: BSD-3-Clause
//
// How much of a long work is done, in steps. One thread works, others may look.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace iotrail {

class Progress {
public:
  void expect(std::uint64_t steps) { all_ += steps; }
  void step() { ++done_; }

  // From 0 to 1.
  double share() const {
    const std::uint64_t all = all_;
    return all == 0 ? 0
                    : std::min(1.0, static_cast<double>(done_.load()) / static_cast<double>(all));
  }

private:
  std::atomic<std::uint64_t> all_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
};

} // namespace iotrail
