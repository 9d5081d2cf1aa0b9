// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel's device of a file from the one that stat(2) shows. They differ where a file system
// shows one for each of its parts, as btrfs does for its subvolumes, and overlayfs for the file
// systems that it is made of.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/selection/mounts.hpp"

namespace iotrail::capture {

// Not thread-safe.
class FileSystemDevices {
public:
  using ReadMounts = std::vector<Mount> (*)();
  explicit FileSystemDevices(ReadMounts read = read_mounts) : read_(read) {}

  // `path`: of a file with that device. Reads the mounts once for each new device. At most
  // kDevicesMost are remembered; others are returned unchanged.
  iot_u32 of(iot_u32 shown, std::string_view path);

private:
  static constexpr std::size_t kDevicesMost = 256;

  ReadMounts read_;
  std::unordered_map<iot_u32, iot_u32> devices_;
};

} // namespace iotrail::capture
