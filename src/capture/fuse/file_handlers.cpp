// SPDX-License-Identifier: BSD-3-Clause
//
// Requests about open files: open, create, read, write, sync, seek, allocate, copy.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "capture/fuse/passthrough.hpp"

namespace iotrail::capture::fuse {
namespace {

constexpr std::size_t kAlignment = 4096;

// Memory of a worker for reads, and for direct writes, which need aligned memory.
class Buffer {
public:
  char* room(std::size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset(static_cast<char*>(
          std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment)));
      bytes_ = memory_ ? bytes : 0;
    }
    return memory_.get();
  }

private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  std::size_t bytes_ = 0;
};

thread_local Buffer thread_buffer;

// The kernel has followed links, made the file, and says for each write whether it appends.
int backend_flags(int flags) {
  return (flags & ~(O_NOFOLLOW | O_APPEND | O_CREAT | O_EXCL | O_NOCTTY)) | O_CLOEXEC;
}

void keep(std::unique_ptr<OpenFile> file, const Passthrough& files, fuse_file_info& info) {
  file->is_direct = (info.flags & O_DIRECT) != 0;
  info.direct_io = files.caches ? 0 : 1;
  info.fh = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(file.release()));
}

void drop(const fuse_file_info& info) {
  const std::unique_ptr<OpenFile> file(&open_file(&info));
}

void handle_open(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  Passthrough& files = passthrough(request);
  const DescriptorPath path(files.nodes.fd(node));
  auto file = std::make_unique<OpenFile>();
  file->fd = Fd(::open(path.get(), backend_flags(info->flags)));
  if (!file->fd)
    return void(fuse_reply_err(request, errno));
  keep(std::move(file), files, *info);
  if (fuse_reply_open(request, info) != 0)
    drop(*info); // the caller was interrupted: no release will come
}

Fd create(Passthrough& files, fuse_ino_t parent, const char* name, mode_t mode, int flags) {
  const int at = files.nodes.fd(parent);
  if ((flags & O_TMPFILE) == O_TMPFILE)
    return Fd(::openat(at, ".", backend_flags(flags) | (flags & O_EXCL), mode));
  return Fd(
      ::openat(at, name, backend_flags(flags) | O_CREAT | O_NOFOLLOW | (flags & O_EXCL), mode));
}

// The node of a new open file, which may have no name.
int look_up_open(Passthrough& files, const OpenFile& file, fuse_ino_t parent, const char* name,
                 fuse_entry_param& entry) {
  const DescriptorPath path(file.fd.get());
  Fd fd(::open(path.get(), O_PATH | O_CLOEXEC));
  if (!fd || ::fstat(fd.get(), &entry.attr) != 0)
    return errno;
  entry.ino = files.nodes.look_up(std::move(fd), entry.attr, parent, name);
  entry.attr_timeout = files.timeout_s();
  entry.entry_timeout = files.timeout_s();
  return 0;
}

void handle_create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
                   fuse_file_info* info) {
  Passthrough& files = passthrough(request);
  auto file = std::make_unique<OpenFile>();
  int error = 0;
  {
    const ActingFor caller(*fuse_req_ctx(request));
    file->fd = create(files, parent, name, mode, info->flags);
    error = file->fd ? 0 : errno;
  }
  fuse_entry_param entry{};
  if (error == 0)
    error = look_up_open(files, *file, parent, name, entry);
  if (error != 0)
    return void(fuse_reply_err(request, error));
  keep(std::move(file), files, *info);
  if (fuse_reply_create(request, &entry, info) == 0)
    return;
  drop(*info);
  files.nodes.forget(entry.ino, 1);
}

void handle_read(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset,
                 fuse_file_info* info) {
  char* const room = thread_buffer.room(size);
  if (room == nullptr)
    return void(fuse_reply_err(request, ENOMEM));
  const int fd = open_file(info).fd.get();
  std::size_t have = 0;
  while (have < size) {
    const ssize_t bytes = ::pread(fd, room + have, size - have, offset + static_cast<off_t>(have));
    if (bytes < 0 && errno == EINTR)
      continue;
    if (bytes < 0 && have == 0)
      return void(fuse_reply_err(request, errno));
    if (bytes <= 0)
      break;
    have += static_cast<std::size_t>(bytes);
    if (open_file(info).is_direct)
      break; // the rest may not be aligned
  }
  fuse_reply_buf(request, room, have);
}

void handle_write(fuse_req_t request, fuse_ino_t, const char* bytes, std::size_t size, off_t offset,
                  fuse_file_info* info) {
  const OpenFile& file = open_file(info);
  if (file.is_direct) {
    char* const room = thread_buffer.room(size);
    if (room == nullptr)
      return void(fuse_reply_err(request, ENOMEM));
    std::memcpy(room, bytes, size);
    bytes = room;
  }
  const iovec all{.iov_base = const_cast<char*>(bytes), .iov_len = size};
  const bool appends = (info->flags & O_APPEND) != 0 && info->writepage == 0;
  ssize_t written = 0;
  do
    written = ::pwritev2(file.fd.get(), &all, 1, offset, appends ? RWF_APPEND : 0);
  while (written < 0 && errno == EINTR);
  if (written < 0)
    fuse_reply_err(request, errno);
  else
    fuse_reply_write(request, static_cast<std::size_t>(written));
}

// On close(2): some file systems report the error of a write only then.
void handle_flush(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  const int copy = ::fcntl(open_file(info).fd.get(), F_DUPFD_CLOEXEC, 0);
  reply_status(request, copy < 0 ? -1 : ::close(copy));
}

void handle_release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  drop(*info);
  fuse_reply_err(request, 0);
}

void handle_fsync(fuse_req_t request, fuse_ino_t, int data_only, fuse_file_info* info) {
  const int fd = open_file(info).fd.get();
  reply_status(request, data_only != 0 ? ::fdatasync(fd) : ::fsync(fd));
}

void handle_fallocate(fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length,
                      fuse_file_info* info) {
  reply_status(request, ::fallocate(open_file(info).fd.get(), mode, offset, length));
}

void handle_lseek(fuse_req_t request, fuse_ino_t, off_t offset, int whence, fuse_file_info* info) {
  const off_t found = ::lseek(open_file(info).fd.get(), offset, whence);
  if (found < 0)
    fuse_reply_err(request, errno);
  else
    fuse_reply_lseek(request, found);
}

void handle_copy(fuse_req_t request, fuse_ino_t, off_t from, fuse_file_info* source, fuse_ino_t,
                 off_t to, fuse_file_info* target, std::size_t size, int flags) {
  const ssize_t copied =
      ::copy_file_range(open_file(source).fd.get(), &from, open_file(target).fd.get(), &to, size,
                        static_cast<unsigned>(flags));
  if (copied < 0)
    fuse_reply_err(request, errno);
  else
    fuse_reply_write(request, static_cast<std::size_t>(copied));
}

} // namespace

void set_file_handlers(fuse_lowlevel_ops& handlers) {
  handlers.open = handle_open;
  handlers.create = handle_create;
  handlers.read = handle_read;
  handlers.write = handle_write;
  handlers.flush = handle_flush;
  handlers.release = handle_release;
  handlers.fsync = handle_fsync;
  handlers.fallocate = handle_fallocate;
  handlers.lseek = handle_lseek;
  handlers.copy_file_range = handle_copy;
}

} // namespace iotrail::capture::fuse
