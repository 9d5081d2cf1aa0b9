// SPDX-License-Identifier: BSD-3-Clause
//
// File systems of the test.
#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "base/result.hpp"
#include "block_device.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {

struct FileSystemKind {
  std::string name;                       // of the file system and its module
  std::string format;                     // arguments for its mkfs
  std::string options{};                  // options for its mount
  std::uint64_t disk_bytes = 64ULL << 20; // the minimum for its mkfs
};

inline const FileSystemKind kExt4{"ext4", "-q -b 4096"};
inline const FileSystemKind kXfs{"xfs", "-q -f", "", 320ULL << 20};
inline const FileSystemKind kBtrfs{"btrfs", "-q -f", "", 256ULL << 20};
inline const FileSystemKind kJournalledExt4{
    "ext4", "-q -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 -J size=4"};

// Each new btrfs reuses the file numbers and generations of the one before. A recorder that keeps
// running would confuse their files.
inline Recording record_on(const FileSystemKind& kind, const Recording::Choice& choice,
                           const std::function<int()>& body) {
  return kind.name == kBtrfs.name ? Recording::alone(choice, body)
                                  : Recording::among_others(choice, body);
}

// A file system on a loop device over a file, mounted in its own directory.
class MountedFileSystem {
public:
  MountedFileSystem(const std::filesystem::path& file, const std::filesystem::path& directory,
                    const FileSystemKind& kind = kJournalledExt4)
      : directory_(directory) {
    std::ofstream{file}.close();
    std::filesystem::resize_file(file, kind.disk_bytes);
    std::filesystem::create_directory(directory);
    device_.emplace(file, 512);
    has_module(kind.name);
    const std::string format =
        "mkfs." + kind.name + " " + kind.format + " " + device_->path() + " >/dev/null 2>&1";
    if (!device_->refusal().empty())
      refusal_ = device_->refusal();
    else if (std::system(format.c_str()) != 0)
      refusal_ = "mkfs." + kind.name + " is not to be had";
    else if (::mount(device_->path().c_str(), directory.c_str(), kind.name.c_str(), 0,
                     kind.options.c_str()) != 0)
      refusal_ = kind.name + " cannot be mounted: " + errno_text(errno);
  }
  ~MountedFileSystem() {
    if (refusal_.empty())
      ::umount2(directory_.c_str(), MNT_DETACH);
  }
  MountedFileSystem(const MountedFileSystem&) = delete;
  MountedFileSystem& operator=(const MountedFileSystem&) = delete;

  const std::string& refusal() const { return refusal_; } // empty: mounted
  std::string operator/(const std::string& name) const { return directory_ / name; }
  const LoopDevice& device() const { return *device_; }
  // The device number of its files: a btrfs has one of its own.
  std::uint64_t file_system_device() const {
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
      std::string id, parent, numbers, root, place;
      std::istringstream(line) >> id >> parent >> numbers >> root >> place;
      if (place == directory_.native())
        return std::stoull(numbers) << IOT_MINOR_BITS |
               std::stoull(numbers.substr(numbers.find(':') + 1));
    }
    return 0;
  }

private:
  std::filesystem::path directory_;
  std::optional<LoopDevice> device_;
  std::string refusal_;
};

} // namespace iotrail::live
