// SPDX-License-Identifier: BSD-3-Clause
//
// Requests about the contents of directories.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "capture/fuse/passthrough.hpp"

namespace iotrail::capture::fuse {
namespace {

void handle_opendir(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  const int fd =
      ::openat(passthrough(request).nodes.fd(node), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  auto directory = std::make_unique<OpenFile>();
  directory->entries = fd < 0 ? nullptr : ::fdopendir(fd);
  if (directory->entries == nullptr) {
    const int error = errno;
    if (fd >= 0)
      ::close(fd);
    return void(fuse_reply_err(request, error));
  }
  OpenFile* const kept = directory.release();
  info->fh = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(kept));
  if (fuse_reply_open(request, info) != 0)
    delete kept; // the caller was interrupted: no release will come
}

bool is_dot(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

class Listing {
public:
  Listing(fuse_req_t request, NodeId node, std::size_t size, bool with_attributes)
      : request_(request), node_(node), bytes_(size), with_attributes_(with_attributes) {}

  // Whether the entry fitted.
  bool add(const dirent& found) {
    fuse_entry_param entry{};
    entry.attr.st_ino = found.d_ino;
    entry.attr.st_mode = static_cast<mode_t>(found.d_type) << 12U;
    const std::size_t room = bytes_.size() - used_;
    const std::size_t needed =
        with_attributes_ ? fuse_add_direntry_plus(request_, nullptr, 0, found.d_name, nullptr, 0)
                         : fuse_add_direntry(request_, nullptr, 0, found.d_name, nullptr, 0);
    if (needed > room)
      return false;
    char* const at = bytes_.data() + used_;
    if (with_attributes_) {
      if (!is_dot(found.d_name) && look_up(passthrough(request_), node_, found.d_name, entry) != 0)
        return true; // removed meanwhile
      fuse_add_direntry_plus(request_, at, room, found.d_name, &entry, found.d_off);
    } else {
      fuse_add_direntry(request_, at, room, found.d_name, &entry.attr, found.d_off);
    }
    used_ += needed;
    return true;
  }

  bool is_empty() const { return used_ == 0; }
  void reply() { fuse_reply_buf(request_, bytes_.data(), used_); }

private:
  fuse_req_t request_;
  NodeId node_;
  std::vector<char> bytes_;
  std::size_t used_ = 0;
  bool with_attributes_;
};

void list(fuse_req_t request, NodeId node, std::size_t size, off_t offset, OpenFile& directory,
          bool with_attributes) {
  const std::lock_guard lock(directory.mutex);
  if (offset == 0)
    ::rewinddir(directory.entries);
  else if (offset != directory.entry_at)
    ::seekdir(directory.entries, offset);
  Listing listing(request, node, size, with_attributes);
  directory.entry_at = offset;
  while (true) {
    errno = 0;
    const dirent* const found = ::readdir(directory.entries);
    if (found == nullptr && errno != 0 && listing.is_empty())
      return void(fuse_reply_err(request, errno));
    if (found == nullptr)
      break;
    if (!listing.add(*found)) {
      ::seekdir(directory.entries, directory.entry_at);
      break;
    }
    directory.entry_at = found->d_off;
  }
  listing.reply();
}

void handle_readdir(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
                    fuse_file_info* info) {
  list(request, node, size, offset, open_file(info), false);
}

void handle_readdirplus(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
                        fuse_file_info* info) {
  list(request, node, size, offset, open_file(info), true);
}

void handle_releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  delete &open_file(info);
  fuse_reply_err(request, 0);
}

void handle_fsyncdir(fuse_req_t request, fuse_ino_t, int data_only, fuse_file_info* info) {
  const int fd = ::dirfd(open_file(info).entries);
  reply_status(request, data_only != 0 ? ::fdatasync(fd) : ::fsync(fd));
}

} // namespace

void set_directory_handlers(fuse_lowlevel_ops& handlers) {
  handlers.opendir = handle_opendir;
  handlers.readdir = handle_readdir;
  handlers.readdirplus = handle_readdirplus;
  handlers.releasedir = handle_releasedir;
  handlers.fsyncdir = handle_fsyncdir;
}

} // namespace iotrail::capture::fuse
