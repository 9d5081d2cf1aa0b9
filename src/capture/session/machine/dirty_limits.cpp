// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/machine/dirty_limits.hpp"

#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "capture/selection/block_device.hpp"
#include "store/format/recorder_tags.hpp"

namespace iotrail::capture {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLimitsMax = 256;
constexpr unsigned kMinorBits = 20;

std::optional<unsigned> setting_of(const fs::path& bdi, iot_u32 device, std::string_view name) {
  unsigned value = 0;
  std::ifstream file(
      bdi / fmt::format("{}:{}", device >> kMinorBits, device & ((1U << kMinorBits) - 1)) / name);
  return file >> value ? std::optional(value) : std::nullopt;
}

} // namespace

std::map<std::string, std::string> strict_dirty_limits(const std::vector<Mount>& mounts,
                                                       const fs::path& bdi) {
  std::map<std::string, std::string> limits;
  for (const Mount& mount : mounts) {
    // Partitions have the limits of their disk.
    const bool has_own = setting_of(bdi, mount.device, "max_ratio").has_value();
    const iot_u32 device = has_own ? mount.device : kernel::whole_disk(mount.device);
    const auto ratio = setting_of(bdi, device, "max_ratio");
    if (ratio && setting_of(bdi, device, "strict_limit") == 1U && limits.size() < kLimitsMax)
      limits[fmt::format("{}dirty.{}", store::kRecorderTags, mount.device)] =
          fmt::format("{}", *ratio);
  }
  return limits;
}

} // namespace iotrail::capture
