// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/pseudo_file_systems.hpp"

#include <sys/vfs.h>

#include <string_view>

#include "capture/selection/mounts.hpp"

namespace iotrail::capture {
namespace {

bool is_pseudo_type(std::string_view name) {
#define PSEUDO(type, magic)                                                                        \
  if (name == #type)                                                                               \
    return true;
#include "pseudo_file_systems.def"
  return false;
}

bool is_pseudo_magic(iot_u32 number) {
  switch (number) {
#define PSEUDO(type, magic) case magic:
#include "pseudo_file_systems.def"
    return true;
  default:
    return false;
  }
}

} // namespace

bool is_on_pseudo_file_system(const std::string& path) {
  struct statfs status{};
  return ::statfs(path.c_str(), &status) == 0 &&
         is_pseudo_magic(static_cast<iot_u32>(status.f_type));
}

// Disks have a major number. A later mount has a new device; for each new device, the mounts are
// read again once.
bool PseudoDevices::contains(iot_u32 device) {
  if (device >> 20U != 0)
    return false;
  if (!known_.contains(device)) {
    look();
    known_.try_emplace(device, false);
  }
  return known_.at(device);
}

void PseudoDevices::look() {
  for (const Mount& mount : read_mounts())
    known_.insert_or_assign(mount.device, is_pseudo_type(mount.type));
}

} // namespace iotrail::capture
