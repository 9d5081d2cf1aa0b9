// SPDX-License-Identifier: BSD-3-Clause
//
// Requests about names: look up, make, link, rename, remove.
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "capture/fuse/passthrough.hpp"

namespace iotrail::capture::fuse {

DescriptorPath::DescriptorPath(int fd) {
  std::snprintf(text_, sizeof(text_), "/proc/self/fd/%d", fd);
}

void reply_status(fuse_req_t request, int status) {
  fuse_reply_err(request, status == 0 ? 0 : errno);
}

int look_up(Passthrough& files, NodeId parent, const char* name, fuse_entry_param& entry) {
  Fd fd(::openat(files.nodes.fd(parent), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd || ::fstat(fd.get(), &entry.attr) != 0)
    return errno;
  entry.ino = files.nodes.look_up(std::move(fd), entry.attr, parent, name);
  entry.attr_timeout = files.timeout_s();
  entry.entry_timeout = files.timeout_s();
  return 0;
}

namespace {

void reply_entry(fuse_req_t request, NodeId parent, const char* name) {
  fuse_entry_param entry{};
  if (const int error = look_up(passthrough(request), parent, name, entry); error != 0)
    fuse_reply_err(request, error);
  else
    fuse_reply_entry(request, &entry);
}

void handle_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply_entry(request, parent, name);
}

void handle_forget(fuse_req_t request, fuse_ino_t node, std::uint64_t lookups) {
  passthrough(request).nodes.forget(node, lookups);
  fuse_reply_none(request);
}

void handle_forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgets) {
  for (std::size_t i = 0; i < count; ++i)
    passthrough(request).nodes.forget(forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(request);
}

// Makes something in `parent` for the caller and answers with its entry.
template <class Make>
void make_entry(fuse_req_t request, fuse_ino_t parent, const char* name, Make make) {
  int status = 0;
  int error = 0;
  {
    const ActingFor caller(*fuse_req_ctx(request));
    status = make(passthrough(request).nodes.fd(parent));
    error = errno;
  }
  if (status != 0)
    fuse_reply_err(request, error);
  else
    reply_entry(request, parent, name);
}

void handle_mknod(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
                  dev_t device) {
  make_entry(request, parent, name, [&](int at) { return ::mknodat(at, name, mode, device); });
}

void handle_mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  make_entry(request, parent, name, [&](int at) { return ::mkdirat(at, name, mode); });
}

void handle_symlink(fuse_req_t request, const char* content, fuse_ino_t parent, const char* name) {
  make_entry(request, parent, name, [&](int at) { return ::symlinkat(content, at, name); });
}

void handle_link(fuse_req_t request, fuse_ino_t node, fuse_ino_t parent, const char* name) {
  Passthrough& files = passthrough(request);
  const DescriptorPath file(files.nodes.fd(node));
  if (::linkat(AT_FDCWD, file.get(), files.nodes.fd(parent), name, AT_SYMLINK_FOLLOW) != 0)
    fuse_reply_err(request, errno);
  else
    reply_entry(request, parent, name);
}

void handle_readlink(fuse_req_t request, fuse_ino_t node) {
  char content[PATH_MAX + 1];
  const ssize_t size =
      ::readlinkat(passthrough(request).nodes.fd(node), "", content, sizeof(content) - 1);
  if (size < 0)
    return void(fuse_reply_err(request, errno));
  content[size] = '\0';
  fuse_reply_readlink(request, content);
}

void handle_unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply_status(request, ::unlinkat(passthrough(request).nodes.fd(parent), name, 0));
}

void handle_rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply_status(request, ::unlinkat(passthrough(request).nodes.fd(parent), name, AT_REMOVEDIR));
}

void handle_rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t to_parent,
                   const char* to_name, unsigned int flags) {
  Passthrough& files = passthrough(request);
  const ActingFor caller(*fuse_req_ctx(request)); // RENAME_WHITEOUT makes a file
  if (::renameat2(files.nodes.fd(parent), name, files.nodes.fd(to_parent), to_name, flags) != 0)
    return void(fuse_reply_err(request, errno));
  files.nodes.rename(parent, name, to_parent, to_name, (flags & RENAME_EXCHANGE) != 0);
  fuse_reply_err(request, 0);
}

} // namespace

void set_name_handlers(fuse_lowlevel_ops& handlers) {
  handlers.lookup = handle_lookup;
  handlers.forget = handle_forget;
  handlers.forget_multi = handle_forget_multi;
  handlers.mknod = handle_mknod;
  handlers.mkdir = handle_mkdir;
  handlers.symlink = handle_symlink;
  handlers.link = handle_link;
  handlers.readlink = handle_readlink;
  handlers.unlink = handle_unlink;
  handlers.rmdir = handle_rmdir;
  handlers.rename = handle_rename;
}

} // namespace iotrail::capture::fuse
