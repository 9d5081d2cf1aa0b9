// SPDX-License-Identifier: BSD-3-Clause
//
// An ext4 with a journal of the test's own.
#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "block_device.hpp"

namespace iotrail::live {

// A file system on a loop device over a file, mounted in a directory of its own.
class MountedFileSystem {
public:
  MountedFileSystem(const std::filesystem::path& file, const std::filesystem::path& directory)
      : directory_(directory) {
    std::ofstream{file}.close();
    std::filesystem::resize_file(file, 64U << 20U);
    std::filesystem::create_directory(directory);
    device_.emplace(file, 512);
    has_module("ext4");
    const std::string format =
        "mkfs.ext4 -q -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 -J size=4 " +
        device_->path() + " >/dev/null 2>&1";
    if (!device_->refusal().empty())
      refusal_ = device_->refusal();
    else if (std::system(format.c_str()) != 0)
      refusal_ = "mkfs.ext4 is not to be had";
    else if (::mount(device_->path().c_str(), directory.c_str(), "ext4", 0, nullptr) != 0)
      refusal_ = "ext4 cannot be mounted: " + errno_text(errno);
  }
  ~MountedFileSystem() {
    if (refusal_.empty())
      ::umount2(directory_.c_str(), MNT_DETACH);
  }
  MountedFileSystem(const MountedFileSystem&) = delete;
  MountedFileSystem& operator=(const MountedFileSystem&) = delete;

  const std::string& refusal() const { return refusal_; } // empty: it is there
  std::string operator/(const std::string& name) const { return directory_ / name; }
  const LoopDevice& device() const { return *device_; }

private:
  std::filesystem::path directory_;
  std::optional<LoopDevice> device_;
  std::string refusal_;
};

} // namespace iotrail::live
