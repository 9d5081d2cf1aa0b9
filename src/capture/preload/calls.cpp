// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/calls.hpp"

#include <linux/close_range.h>

namespace iotrail::capture::preload {

namespace {

constexpr int kVectorMost = 1024; // the kernel accepts no more (IOV_MAX)

io_s64 position_of(FILE* stream) {
  const int kept = errno;
  const io_s64 position = REAL(ftello64)(stream);
  errno = kept;
  return position;
}

} // namespace

Target closing(DIR* dir) {
  return dir != nullptr ? closing(dirfd(dir)) : none();
}

Target closing_range(unsigned first, unsigned last, int flags) {
  if ((static_cast<unsigned>(flags) & CLOSE_RANGE_CLOEXEC) == 0)
    forget_files(first, last);
  return {static_cast<int>(first), 0};
}

Target positioned(FILE* stream) {
  Target target = on(stream);
  target.position = position_of(stream);
  return target;
}

io_s64 moved(const Target& target, FILE* stream, int value) {
  if (value < 0 && stream_failure(stream) != 0)
    return stream_failure(stream);
  const io_s64 position = position_of(stream);
  return target.position >= 0 && position >= target.position ? position - target.position : 0;
}

io_u64 sum(const iovec* parts, int count, io_s64 result) {
  iovec copy[kVectorMost];
  if (count <= 0 || count > kVectorMost)
    return 0;
  if (result < 0) {
    if (!copy_safely(copy, parts, static_cast<io_u64>(count) * sizeof(iovec)))
      return 0;
    parts = copy;
  }
  io_u64 bytes = 0;
  for (int i = 0; i < count; ++i)
    bytes += parts[i].iov_len;
  return bytes;
}

io_s64 offset_before(const off_t* position, io_s64 result) {
  off_t after = 0;
  if (position == nullptr)
    return IO_OFFSET_NONE;
  if (result >= 0)
    return *position - result;
  return copy_safely(&after, position, sizeof(after)) ? after : IO_OFFSET_NONE;
}

io_u32 empty_path_file(int dir, const char* path, int flags, io_s64 result) {
  return result >= 0 && (flags & AT_EMPTY_PATH) != 0 && path != nullptr && *path == 0 && dir >= 0
             ? file_of(dir)
             : 0;
}

io_u32 flags_of_mode(const char* mode) {
  if (mode == nullptr)
    return 0;
  io_u32 flags = 0;
  bool both = false;
  for (const char* letter = mode + 1; *mode != 0 && *letter != 0 && *letter != ','; ++letter) {
    both |= *letter == '+';
    flags |= *letter == 'x' ? io_u32{O_EXCL} : 0;
    flags |= *letter == 'e' ? io_u32{O_CLOEXEC} : 0;
  }
  if (*mode == 'w')
    flags |= O_CREAT | O_TRUNC;
  if (*mode == 'a')
    flags |= O_CREAT | O_APPEND;
  if (both)
    return flags | O_RDWR;
  return *mode == 'r' ? flags : flags | O_WRONLY;
}

void opened(io_app_open& e, int fd, int dir, const char* path, int flags, mode_t mode) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  e.fd = dir;
  e.flags = static_cast<io_u32>(flags);
  e.mode = creates ? mode : 0;
  e.path = text_of(path, e.result);
  if (fd >= 0)
    e.file = file_of_new(fd);
}

void opened_stream(io_app_open& e, FILE* stream, const char* path, const char* mode) {
  const int fd = descriptor_of(stream);
  e.flags = flags_of_mode(mode);
  e.mode = (e.flags & O_CREAT) != 0 ? 0666 : 0;
  e.fd = path != nullptr ? AT_FDCWD : IO_NO_FD;
  e.path = text_of(path, e.result);
  e.file = fd != IO_NO_FD ? file_of_new(fd) : 0;
}

} // namespace iotrail::capture::preload
