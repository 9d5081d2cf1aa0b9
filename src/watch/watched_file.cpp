// SPDX-License-Identifier: BSD-3-Clause
#include "watch/watched_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "capture/selection/block_device.hpp"
#include "capture/selection/file_system.hpp"
#include "capture/selection/mounts.hpp"

namespace iotrail::watch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHandleBytes = sizeof(file_handle) + MAX_HANDLE_SZ;

std::vector<std::byte> handle_of(const std::string& path) {
  alignas(file_handle) std::byte buffer[kHandleBytes]{};
  auto* handle = reinterpret_cast<file_handle*>(buffer);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (::name_to_handle_at(AT_FDCWD, path.c_str(), handle, &mount, 0) != 0)
    return {};
  return {buffer, buffer + sizeof(file_handle) + handle->handle_bytes};
}

std::optional<capture::Mount> mount_of(const std::string& path) {
  struct statx status{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_MNT_ID, &status) != 0)
    return std::nullopt;
  std::vector<capture::Mount> mounts = capture::read_mounts();
  const auto found = std::ranges::find(mounts, status.stx_mnt_id, &capture::Mount::id);
  return found == mounts.end() ? std::nullopt : std::optional(std::move(*found));
}

// In sectors of 512 bytes; 0 for a whole disk.
std::uint64_t first_sector_of(dev_t device) {
  std::ifstream file(fmt::format("/sys/dev/block/{}:{}/start", major(device), minor(device)));
  std::uint64_t sector = 0;
  file >> sector;
  return sector;
}

// The block device of the file system, or numbers where it has none.
void find_disk(const std::optional<capture::Mount>& mount, WatchedFile& file) {
  std::error_code code;
  const fs::path source = mount ? fs::canonical(mount->source, code) : fs::path();
  struct stat status{};
  if (!code && ::stat(source.c_str(), &status) == 0 && S_ISBLK(status.st_mode)) {
    file.disk_name = source.filename().native();
    file.disk = capture::kernel::disk_of(source.native());
    file.first_sector = first_sector_of(status.st_rdev);
    return;
  }
  constexpr unsigned kMinorBits = 20;
  file.disk_name = fmt::format("{}:{}", file.key.device >> kMinorBits,
                               file.key.device & ((1U << kMinorBits) - 1));
}

Fd open_by_path(const std::string& path) {
  return Fd(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

bool is_same(const Fd& fd, const WatchedFile& file) {
  struct stat status{};
  return fd && ::fstat(fd.get(), &status) == 0 && status.st_ino == file.key.inode &&
         capture::kernel::file_system_of(fmt::format("/proc/self/fd/{}", fd.get())) ==
             file.key.device;
}

} // namespace

std::string WatchedFile::name() const {
  return fmt::format("{}_{}", disk_name, key.inode);
}

Result<WatchedFile> find_file(const std::string& path) {
  std::error_code code;
  WatchedFile file;
  file.path = fs::canonical(path, code).native();
  struct stat status{};
  if (code || ::stat(file.path.c_str(), &status) != 0)
    return fail_errno("file " + path, code ? code.value() : errno);
  if (S_ISDIR(status.st_mode))
    return fail_errno("file " + path, EISDIR, "A watcher watches single files.");
  if (!S_ISREG(status.st_mode))
    return fail_errno("file " + path, EINVAL, "It is no regular file.");
  file.key = {.device = capture::kernel::file_system_of(file.path), .inode = status.st_ino};
  const auto mount = mount_of(file.path);
  if (mount)
    file.mount_point = mount->point;
  find_disk(mount, file);
  file.handle = handle_of(file.path);
  return file;
}

Fd open_by_inode(const WatchedFile& file) {
  if (!file.handle.empty()) {
    alignas(file_handle) std::byte buffer[kHandleBytes]{};
    std::memcpy(buffer, file.handle.data(), std::min(file.handle.size(), kHandleBytes));
    const Fd mount(::open(file.mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    Fd fd(::open_by_handle_at(mount.get(), reinterpret_cast<file_handle*>(buffer),
                              O_PATH | O_CLOEXEC));
    if (is_same(fd, file))
      return fd;
  }
  Fd fd = open_by_path(file.path);
  return is_same(fd, file) ? std::move(fd) : Fd();
}

std::string present_path(const WatchedFile& file, const std::string& path) {
  if (is_same(open_by_path(path), file))
    return path;
  const Fd fd = open_by_inode(file);
  std::error_code code;
  const std::string present =
      fs::read_symlink(fmt::format("/proc/self/fd/{}", fd.get()), code).native();
  return !code && is_same(open_by_path(present), file) ? present : path; // not of a removed one
}

} // namespace iotrail::watch
