// SPDX-License-Identifier: BSD-3-Clause
//
// Where file systems of the traced disks were mounted when tracing began. iotrace names files by their path in the file
// system. A trace keeps this as tags, which the summary does not show.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/format/manifest.hpp"

namespace iotrail::compat::iotrace {

// Tags that begin so are not the user's.
inline constexpr std::string_view kOwnTags = "iotrace.";

// The tags of the file systems that are mounted from these disks now. Disks: major << 20 | minor.
std::map<std::string, std::string> mount_tags(const std::vector<std::uint32_t>& disks);

class MountPoints {
public:
  explicit MountPoints(const store::Manifest& manifest);

  // "/a" of the path "/mnt/a" on a file system mounted at /mnt; the path itself if its mount point is not known.
  std::string path_inside(std::uint64_t file_system, std::string path) const;

private:
  std::map<std::uint64_t, std::string> points_; // by device number of the file system
};

} // namespace iotrail::compat::iotrace
