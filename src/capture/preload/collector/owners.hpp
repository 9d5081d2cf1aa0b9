// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the places whose thread is gone: it said so, it cannot be signalled, or the same thread has claimed another
// place since (it runs another program, whose memory knows nothing of the first place).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

class OwnerWatch {
public:
  OwnerWatch();

  // Indices of the places that have an owner who will write no more.
  std::vector<iot_u32> find_gone(std::span<const iot_u64> owners,
                                 std::span<const ArenaPlace> places);

private:
  bool is_dead(iot_u64 owner, const ArenaPlace& place) const;

  std::uint64_t pid_namespace_;
  std::vector<iot_u64> unclaimed_; // owner at the last look of a place whose claim was not complete
};

} // namespace iotrail::capture::preload
