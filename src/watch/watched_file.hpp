// SPDX-License-Identifier: BSD-3-Clause
//
// A file to watch, by its inode: hard links are the same file, a symbolic link is its target, and
// another name does not change it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "abi.h"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::watch {

struct FileKey {
  iot_u32 device = 0; // of the file system, as in traces
  iot_u64 inode = 0;

  auto operator<=>(const FileKey&) const = default;
};

struct WatchedFile {
  FileKey key;
  std::string path;               // when it was found: absolute, without links
  std::string disk_name;          // "sda1"; a file system without a block device has "0:45"
  iot_u32 disk = 0;               // the whole disk; 0: none, or unknown
  std::uint64_t first_sector = 0; // of the partition, on the disk
  std::string mount_point;
  std::vector<std::byte> handle; // of the inode; empty: its file system has none

  std::string name() const; // "sda1_131": as its directory below a mount
};

// Fails if there is no regular file; the error says why.
Result<WatchedFile> find_file(const std::string& path);

// A descriptor that only names the file, whatever its name is now. Empty: it is gone, or was given
// another name that cannot be found.
Fd open_by_inode(const WatchedFile& file);

// The path that the file has now, if it is no longer `path`; else, or if that cannot be found,
// `path`.
std::string present_path(const WatchedFile& file, const std::string& path);

} // namespace iotrail::watch
