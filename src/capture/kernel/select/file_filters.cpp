// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/select/file_filters.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/path_below.hpp"
#include "capture/kernel/select/named_paths.hpp"
#include "capture/selection/block_device.hpp"
#include "capture/selection/file_system.hpp"
#include "capture/selection/mounts.hpp"

namespace iotrail::capture::kernel {
namespace {

struct JudgedFolder {
  std::string path; // without links
  iot_verdict verdict;
};

Result<void> add_folders(const std::vector<std::string>& paths, iot_verdict verdict,
                         std::vector<JudgedFolder>& folders) {
  for (const std::string& path : paths) {
    std::error_code code;
    const std::string folder = std::filesystem::canonical(path, code).native();
    if (code)
      return fail_errno("directory " + path, code.value());
    if (!std::filesystem::is_directory(folder, code))
      return fail("directory " + path, "it is none", "--file stands for a single file.");
    folders.push_back({folder, verdict});
  }
  return {};
}

// The innermost of them above a path; nullptr: it is below none.
const JudgedFolder* folder_above(const std::vector<JudgedFolder>& folders,
                                 const std::string& path) {
  const JudgedFolder* innermost = nullptr;
  for (const JudgedFolder& folder : folders)
    if (is_below(path, folder.path) &&
        (innermost == nullptr || folder.path.size() > innermost->path.size()))
      innermost = &folder;
  return innermost;
}

// The device mounted there, without a request to a server that is gone. 0: unknown.
iot_u64 root_inode_of(const Mount& mount) {
  struct statx status{};
  const int flags = AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  return ::statx(AT_FDCWD, mount.point.c_str(), flags, STATX_INO, &status) == 0 ? status.stx_ino
                                                                                : 0;
}

bool is_shared(iot_u32 disk, const Mount& mount) {
  return std::ranges::any_of(read_mounts(), [&](const Mount& other) {
    return other.device != mount.device && disk_of(other.source) == disk;
  });
}

// The last mount at a directory hides those before.
Result<Mount> find_mount(const std::string& path) {
  std::error_code code;
  const std::string point = std::filesystem::canonical(path, code).native();
  if (code)
    return fail_errno("mount " + path, code.value());
  std::vector<Mount> mounts = read_mounts();
  const auto mount = std::ranges::find(mounts.rbegin(), mounts.rend(), point, &Mount::point);
  if (mount != mounts.rend())
    return std::move(*mount);
  return fail("mount " + path, "nothing is mounted there",
              "`findmnt` lists what is mounted; --dir stands for the files below a directory.");
}

} // namespace

Result<void> judge_file(BpfObject& object, const std::string& path, iot_verdict verdict) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return fail_errno(
        "file " + path, errno,
        "It has to be there when the recording begins; --dir stands for files that are made "
        "later, too.");
  if (S_ISDIR(status.st_mode))
    return fail("file " + path, "it is a directory", "--dir stands for the files below one.");
  const iot_file_key key{
      .inode = status.st_ino, .device = file_system_of(path), .generation = generation_of(path)};
  return put(object.map_fd("wanted_files"), key, path, verdict);
}

// The programs search from a file without a known path only up to the root of its file system.
// Mounts below a directory therefore get the same verdict.
Result<void> judge_folders(BpfObject& object, const Filter& filter) {
  const int map = object.map_fd("wanted_files");
  std::vector<JudgedFolder> folders;
  if (auto added = add_folders(filter.wanted.folders, IOT_WANTED, folders); !added)
    return added;
  if (auto added = add_folders(filter.excluded.folders, IOT_EXCLUDED, folders); !added)
    return added;
  if (folders.empty())
    return {};
  for (const Mount& mount : read_mounts()) {
    const JudgedFolder* above = folder_above(folders, mount.point);
    const iot_u64 inode = above == nullptr ? 0 : root_inode_of(mount);
    const iot_file_key key{.inode = inode, .device = mount.device, .generation = 0};
    if (inode != 0)
      if (auto set = put(map, key, mount.point, above->verdict); !set)
        return set;
  }
  for (const JudgedFolder& folder : folders) {
    struct stat status{};
    if (::stat(folder.path.c_str(), &status) != 0)
      return fail_errno("directory " + folder.path);
    const iot_file_key key{
        .inode = status.st_ino, .device = file_system_of(folder.path), .generation = 0};
    if (auto set = put(map, key, folder.path, folder.verdict); !set)
      return set;
  }
  return {};
}

// Block events by the disk; those of other layers by the file systems mounted from it.
Result<void> judge_device(BpfObject& object, const std::string& name, iot_verdict verdict) {
  const std::string path = name.find('/') == name.npos ? "/dev/" + name : name;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return fail_errno("device " + path);
  const iot_u32 disk = disk_of(path);
  if (disk == 0)
    return fail("device " + path, "not a block device",
                "`lsblk --paths` lists the block devices there are.");
  // The disk's own numbers: for later mounts, and mounts that this process does not see.
  std::vector<iot_u32> file_systems = partitions_of(disk);
  for (const Mount& mount : read_mounts())
    if (disk_of(mount.source) == disk)
      file_systems.push_back(mount.device); // a number of no disk, as with btrfs
  for (const iot_u32 device : file_systems)
    if (auto set = put(object.map_fd("wanted_file_systems"), device, path, verdict); !set)
      return set;
  return put(object.map_fd("wanted_devices"), disk, path, verdict);
}

// Its files by the file system, at all of its mounts; its metadata by the disk, unless another file
// system is on it.
Result<void> judge_mount(BpfObject& object, const std::string& path, iot_verdict verdict) {
  const Result<Mount> mount = find_mount(path);
  if (!mount)
    return std::unexpected(mount.error());
  if (auto set = put(object.map_fd("wanted_file_systems"), mount->device, path, verdict); !set)
    return set;
  const iot_u32 disk = disk_of(mount->source);
  if (disk == 0 || (verdict == IOT_EXCLUDED && is_shared(disk, *mount)))
    return {};
  return put(object.map_fd("wanted_devices"), disk, path, verdict);
}

} // namespace iotrail::capture::kernel
