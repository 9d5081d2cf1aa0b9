// SPDX-License-Identifier: BSD-3-Clause
//
// Mounted file systems for which the kernel limits unwritten data by a part of the device's own
// (strict_limit in /sys/class/bdi), however little the machine has. FUSE has it by default.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "capture/selection/mounts.hpp"

namespace iotrail::capture {

// As tags of a trace: "iotrail.dirty.DEVICE" = max_ratio in percent, DEVICE as in the events. At most a few
// hundred. `bdi`: another directory in tests.
std::map<std::string, std::string>
strict_dirty_limits(const std::vector<Mount>& mounts,
                    const std::filesystem::path& bdi = "/sys/class/bdi");

} // namespace iotrail::capture
