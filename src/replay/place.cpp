// SPDX-License-Identifier: BSD-3-Clause
#include "replay/place.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace iotrail::replay {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;
constexpr int kDirectory = O_PATH | O_DIRECTORY | O_CLOEXEC;
// What is left of the flags of an open: positions are explicit, so that O_APPEND would move them.
constexpr std::uint32_t kFlagsKept = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_DIRECT | O_SYNC |
                                     O_DSYNC | O_DIRECTORY | O_TMPFILE | O_NOFOLLOW;

int open_beneath(int directory, const std::string& path, std::uint32_t flags, mode_t mode) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.mode = (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const std::string& name = path.empty() ? "." : path;
  const long fd = ::syscall(SYS_openat2, directory, name.c_str(), &how, sizeof(how));
  return fd >= 0 ? static_cast<int>(fd) : -errno;
}

int outcome(int returned) {
  return returned >= 0 ? returned : -errno;
}

} // namespace

Result<Place> Place::open(const std::filesystem::path& path, bool is_prepared) {
  if (!is_prepared && ::mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST)
    return fail_errno(fmt::format("cannot make the directory {}", path.native()));
  Fd directory(::open(path.c_str(), kDirectory));
  if (!directory)
    return fail_errno(fmt::format("cannot replay into {}", path.native()));
  std::error_code error;
  const bool is_empty = std::filesystem::is_empty(path, error);
  if (error)
    return fail_errno(fmt::format("cannot read {}", path.native()), error.value());
  if (!is_prepared && !is_empty)
    return fail(fmt::format("cannot replay into {}", path.native()),
                "the directory is not empty, and nothing is written over",
                "Name a new directory. --prepared uses what `replay --prepare` has made.");
  return Place(path, std::move(directory));
}

Result<std::uint64_t> Place::free_bytes() const {
  struct statvfs status{};
  if (::statvfs(path_.c_str(), &status) != 0)
    return fail_errno(fmt::format("cannot read the free space of {}", path_.native()));
  return status.f_bavail * status.f_frsize;
}

int Place::open_file(const std::string& path, std::uint32_t flags) const {
  const std::uint32_t kept = flags & kFlagsKept;
  const int fd = open_beneath(directory_.get(), path, kept, kFileMode);
  if (fd != -EINVAL || (kept & O_DIRECT) == 0)
    return fd;
  return open_beneath(directory_.get(), path, kept & ~static_cast<std::uint32_t>(O_DIRECT),
                      kFileMode); // the file system has no direct I/O
}

// `name` becomes the last part of the path.
Fd Place::open_parent(const std::string& path, std::string& name) const {
  const std::size_t slash = path.rfind('/');
  name = slash == std::string::npos ? path : path.substr(slash + 1);
  const int fd =
      open_beneath(directory_.get(), slash == std::string::npos ? "" : path.substr(0, slash),
                   kDirectory, kFileMode);
  if (fd < 0)
    errno = -fd;
  return Fd(fd < 0 ? -1 : fd);
}

template <class Call>
int Place::at_both(const std::string& from, const std::string& to, const Call& call) const {
  std::string from_name;
  std::string to_name;
  const Fd from_parent = open_parent(from, from_name);
  if (!from_parent)
    return -errno;
  const Fd to_parent = open_parent(to, to_name);
  if (!to_parent)
    return -errno;
  return outcome(call(from_parent.get(), from_name.c_str(), to_parent.get(), to_name.c_str()));
}

int Place::unlink(const std::string& path) const {
  std::string name;
  const Fd parent = open_parent(path, name);
  if (!parent)
    return -errno;
  const int done = outcome(::unlinkat(parent.get(), name.c_str(), 0));
  return done == -EISDIR ? outcome(::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR)) : done;
}

int Place::rename(const std::string& from, const std::string& to, bool replaces) const {
  return at_both(from, to, [=](int from_fd, const char* from_name, int to_fd, const char* to_name) {
    return ::renameat2(from_fd, from_name, to_fd, to_name, replaces ? 0 : RENAME_NOREPLACE);
  });
}

int Place::link(const std::string& from, const std::string& to) const {
  return at_both(from, to, [](int from_fd, const char* from_name, int to_fd, const char* to_name) {
    return ::linkat(from_fd, from_name, to_fd, to_name, 0);
  });
}

int Place::make_directory(const std::string& path) const {
  std::string name;
  const Fd parent = open_parent(path, name);
  return parent ? outcome(::mkdirat(parent.get(), name.c_str(), kDirectoryMode)) : -errno;
}

int Place::look_up(const std::string& path) const {
  std::string name;
  struct stat status{};
  const Fd parent = open_parent(path, name);
  if (!parent)
    return -errno;
  return outcome(
      ::fstatat(parent.get(), name.empty() ? "." : name.c_str(), &status, AT_SYMLINK_NOFOLLOW));
}

} // namespace iotrail::replay
