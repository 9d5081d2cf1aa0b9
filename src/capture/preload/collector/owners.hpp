// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the places of threads that are gone: the thread released the place, cannot be signalled, or
// has claimed another place since. The last happens if it executes another program, which does not
// know the first place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

class OwnerWatch {
public:
  OwnerWatch();

  // Indices of the places with an owner that will not write any more.
  std::vector<iot_u32> find_gone(std::span<const iot_u64> owners,
                                 std::span<const ThreadSlot> places);

private:
  bool is_dead(iot_u64 owner, const ThreadSlot& place) const;

  std::uint64_t pid_namespace_;
  std::vector<iot_u64> unclaimed_; // owner at the last look at a place with an incomplete claim
};

} // namespace iotrail::capture::preload
