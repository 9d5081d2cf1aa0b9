// SPDX-License-Identifier: BSD-3-Clause
//
// Requests about attributes, extended attributes and the file system.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "capture/fuse/passthrough.hpp"

namespace iotrail::capture::fuse {
namespace {

constexpr std::size_t kXattrBytesMost = 64U << 10U; // XATTR_SIZE_MAX, XATTR_LIST_MAX

void handle_getattr(fuse_req_t request, fuse_ino_t node, fuse_file_info*) {
  Passthrough& files = passthrough(request);
  struct stat attributes{};
  if (::fstat(files.nodes.fd(node), &attributes) != 0)
    fuse_reply_err(request, errno);
  else
    fuse_reply_attr(request, &attributes, files.timeout_s());
}

timespec time_to_set(const timespec& given, int set, int is_set, int is_now) {
  if ((set & is_now) != 0)
    return {.tv_sec = 0, .tv_nsec = UTIME_NOW};
  if ((set & is_set) != 0)
    return given;
  return {.tv_sec = 0, .tv_nsec = UTIME_OMIT};
}

int set_mode(const DescriptorPath& path, const struct stat& to, const OpenFile* open) {
  return open != nullptr ? ::fchmod(open->fd.get(), to.st_mode) : ::chmod(path.get(), to.st_mode);
}

int set_length(const DescriptorPath& path, const struct stat& to, const OpenFile* open) {
  return open != nullptr ? ::ftruncate(open->fd.get(), to.st_size)
                         : ::truncate(path.get(), to.st_size);
}

// 0 or an errno. In this order, since a change of owner or length clears bits of the mode.
int set_attributes(int fd, const struct stat& to, int set, const OpenFile* open) {
  const DescriptorPath path(fd);
  if ((set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0) {
    const uid_t user = (set & FUSE_SET_ATTR_UID) != 0 ? to.st_uid : static_cast<uid_t>(-1);
    const gid_t group = (set & FUSE_SET_ATTR_GID) != 0 ? to.st_gid : static_cast<gid_t>(-1);
    if (::fchownat(fd, "", user, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0)
      return errno;
  }
  if ((set & FUSE_SET_ATTR_SIZE) != 0 && set_length(path, to, open) != 0)
    return errno;
  if ((set & FUSE_SET_ATTR_MODE) != 0 && set_mode(path, to, open) != 0)
    return errno;
  constexpr int kTimes =
      FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW;
  if ((set & kTimes) == 0)
    return 0;
  const timespec times[2]{
      time_to_set(to.st_atim, set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW),
      time_to_set(to.st_mtim, set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW)};
  return ::utimensat(AT_FDCWD, path.get(), times, 0) == 0 ? 0 : errno;
}

void handle_setattr(fuse_req_t request, fuse_ino_t node, struct stat* to, int set,
                    fuse_file_info* info) {
  const OpenFile* const open = info == nullptr ? nullptr : &open_file(info);
  const int error = set_attributes(passthrough(request).nodes.fd(node), *to, set, open);
  if (error != 0)
    fuse_reply_err(request, error);
  else
    handle_getattr(request, node, info);
}

void handle_statfs(fuse_req_t request, fuse_ino_t node) {
  struct statvfs facts{};
  if (::fstatvfs(passthrough(request).nodes.fd(node), &facts) != 0)
    fuse_reply_err(request, errno);
  else
    fuse_reply_statfs(request, &facts);
}

// Answers with what `get` puts into a buffer of `size` bytes; 0: with the size needed.
template <class Get> void reply_xattr(fuse_req_t request, std::size_t size, Get get) {
  std::vector<char> value(std::min(size, kXattrBytesMost));
  const ssize_t bytes = get(value.data(), value.size());
  if (bytes < 0)
    fuse_reply_err(request, errno);
  else if (size == 0)
    fuse_reply_xattr(request, static_cast<std::size_t>(bytes));
  else
    fuse_reply_buf(request, value.data(), static_cast<std::size_t>(bytes));
}

void handle_getxattr(fuse_req_t request, fuse_ino_t node, const char* name, std::size_t size) {
  const DescriptorPath path(passthrough(request).nodes.fd(node));
  reply_xattr(request, size, [&](char* value, std::size_t room) {
    return ::getxattr(path.get(), name, value, room);
  });
}

void handle_listxattr(fuse_req_t request, fuse_ino_t node, std::size_t size) {
  const DescriptorPath path(passthrough(request).nodes.fd(node));
  reply_xattr(request, size,
              [&](char* names, std::size_t room) { return ::listxattr(path.get(), names, room); });
}

void handle_setxattr(fuse_req_t request, fuse_ino_t node, const char* name, const char* value,
                     std::size_t size, int flags) {
  const DescriptorPath path(passthrough(request).nodes.fd(node));
  reply_status(request, ::setxattr(path.get(), name, value, size, flags));
}

void handle_removexattr(fuse_req_t request, fuse_ino_t node, const char* name) {
  const DescriptorPath path(passthrough(request).nodes.fd(node));
  reply_status(request, ::removexattr(path.get(), name));
}

void handle_access(fuse_req_t request, fuse_ino_t node, int mask) {
  const DescriptorPath path(passthrough(request).nodes.fd(node));
  reply_status(request, ::faccessat(AT_FDCWD, path.get(), mask, AT_EACCESS));
}

} // namespace

void set_attribute_handlers(fuse_lowlevel_ops& handlers) {
  handlers.getattr = handle_getattr;
  handlers.setattr = handle_setattr;
  handlers.statfs = handle_statfs;
  handlers.getxattr = handle_getxattr;
  handlers.listxattr = handle_listxattr;
  handlers.setxattr = handle_setxattr;
  handlers.removexattr = handle_removexattr;
  handlers.access = handle_access;
}

} // namespace iotrail::capture::fuse
