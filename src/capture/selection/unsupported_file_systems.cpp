// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/unsupported_file_systems.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "capture/selection/mounts.hpp"

namespace iotrail::capture {
namespace {

struct FileSystem {
  std::string_view type;
  iot_u32 magic;
  bool has_events;
};
constexpr FileSystem kFileSystems[] = {
#define FILE_SYSTEM(type, magic, has_events, syncs_writes, is_served)                              \
  {#type, magic, (has_events) != 0},
#include "file_systems.def"
};
struct PseudoFileSystem {
  std::string_view type;
  iot_u32 magic;
};
constexpr PseudoFileSystem kPseudo[] = {
#define PSEUDO(type, magic) {#type, magic},
#include "pseudo_file_systems.def"
};

// Null: it is none of these.
const FileSystem* find(iot_u32 magic) {
  const auto* found = std::ranges::find(kFileSystems, magic, &FileSystem::magic);
  return found == std::end(kFileSystems) ? nullptr : found;
}
const PseudoFileSystem* find_pseudo(iot_u32 magic) {
  const auto* found = std::ranges::find(kPseudo, magic, &PseudoFileSystem::magic);
  return found == std::end(kPseudo) ? nullptr : found;
}

bool is_bare(iot_u32 magic) {
  const FileSystem* known = find(magic);
  return known != nullptr ? !known->has_events : find_pseudo(magic) == nullptr;
}

std::string name_of(iot_u32 magic, iot_u32 device, const std::vector<Mount>& mounts) {
  if (const FileSystem* known = find(magic))
    return std::string(known->type);
  const auto mount = std::ranges::find(mounts, device, &Mount::device);
  return mount == mounts.end() ? fmt::format("file system 0x{:x}", magic) : mount->type;
}

} // namespace

std::string file_system_type(iot_u32 magic) {
  if (const FileSystem* known = find(magic))
    return std::string(known->type);
  const PseudoFileSystem* pseudo = find_pseudo(magic);
  return pseudo != nullptr ? std::string(pseudo->type) : fmt::format("0x{:x}", magic);
}

void UnsupportedFileSystems::see(iot_u32 magic, iot_u32 device) {
  devices_.try_emplace(magic, is_bare(magic) ? device : 0);
}

std::vector<std::string> UnsupportedFileSystems::names() const {
  std::vector<std::string> names;
  const std::vector<Mount> mounts = read_mounts();
  for (const auto& [magic, device] : devices_)
    if (device != 0)
      names.push_back(name_of(magic, device, mounts));
  std::ranges::sort(names);
  return names;
}

} // namespace iotrail::capture
