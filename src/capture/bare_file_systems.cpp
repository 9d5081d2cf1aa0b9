// SPDX-License-Identifier: BSD-3-Clause
#include "capture/bare_file_systems.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "capture/mounts.hpp"

namespace iotrail::capture {
namespace {

bool is_bare(iot_u32 magic) {
  switch (magic) {
#define FILE_SYSTEM(type, magic, has_events, syncs_writes)                                         \
  case magic:                                                                                      \
    return !(has_events);
#include "file_systems.def"
#define PSEUDO(type, magic) case magic:
#include "pseudo_file_systems.def"
    return false;
  default:
    return true;
  }
}

std::string name_of(iot_u32 magic, iot_u32 device, const std::vector<Mount>& mounts) {
  switch (magic) {
#define FILE_SYSTEM(type, magic, has_events, syncs_writes)                                         \
  case magic:                                                                                      \
    return #type;
#include "file_systems.def"
  default:
    break;
  }
  const auto mount = std::ranges::find(mounts, device, &Mount::device);
  return mount == mounts.end() ? fmt::format("file system 0x{:x}", magic) : mount->type;
}

} // namespace

void BareFileSystems::see(iot_u32 magic, iot_u32 device) {
  devices_.try_emplace(magic, is_bare(magic) ? device : 0);
}

std::vector<std::string> BareFileSystems::names() const {
  std::vector<std::string> names;
  const std::vector<Mount> mounts = read_mounts();
  for (const auto& [magic, device] : devices_)
    if (device != 0)
      names.push_back(name_of(magic, device, mounts));
  std::ranges::sort(names);
  return names;
}

} // namespace iotrail::capture
