// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/owners.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <tuple>
#include <utility>

namespace iotrail::capture::preload {

namespace {

std::uint64_t own_pid_namespace() {
  struct stat attributes{};
  return stat("/proc/self/ns/pid", &attributes) == 0 ? attributes.st_ino : 0;
}

} // namespace

OwnerWatch::OwnerWatch() : pid_namespace_(own_pid_namespace()), unclaimed_(kPlaces) {}

// A process of another pid namespace can be checked only once its number here is known. Until then
// its places become free when it releases them or claims others.
bool OwnerWatch::is_dead(iot_u64 owner, const ThreadSlot& place) const {
  const iot_u64 seen = __atomic_load_n(&place.pid_namespace, __ATOMIC_RELAXED);
  if (const iot_u64 outer = __atomic_load_n(&place.outer_owner, __ATOMIC_RELAXED); outer != 0)
    owner = outer;
  else if (seen != pid_namespace_ && seen != 0)
    return false;
  return tgkill(static_cast<pid_t>(pid_of(owner)), static_cast<pid_t>(tid_of(owner)), 0) != 0 &&
         errno == ESRCH;
}

std::vector<iot_u32> OwnerWatch::find_gone(std::span<const iot_u64> owners,
                                           std::span<const ThreadSlot> places) {
  std::vector<iot_u32> found;
  std::map<std::tuple<iot_u64, iot_u64>, std::pair<iot_u64, iot_u32>> newest; // (namespace, owner)
  for (iot_u32 index = 0; index < owners.size(); ++index) {
    const iot_u64 owner = __atomic_load_n(&owners[index], __ATOMIC_ACQUIRE);
    const iot_u64 claim = __atomic_load_n(&places[index].claim, __ATOMIC_ACQUIRE);
    const bool seen_before = std::exchange(unclaimed_[index], claim == 0 ? owner : 0) == owner;
    if (owner == 0)
      continue;
    if ((owner & kOwnerReleased) != 0) {
      found.push_back(index);
      continue;
    }
    if ((claim != 0 || seen_before) && is_dead(owner, places[index])) {
      found.push_back(index);
      continue;
    }
    if (claim == 0)
      continue;
    auto [at, first] = newest.try_emplace({places[index].pid_namespace, owner}, claim, index);
    if (first)
      continue;
    found.push_back(at->second.first < claim ? at->second.second : index);
    if (at->second.first < claim)
      at->second = {claim, index};
  }
  return found;
}

} // namespace iotrail::capture::preload
