// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/calls.hpp"

#include <langinfo.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <algorithm>

#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr int kVectorMost = 1024; // the kernel's maximum (IOV_MAX)
constexpr int kCopiedAtOnce = 32;

// Like ftello(), but with a raw system call of the library: it must not look like a call of the
// program. A stream without a descriptor, as of fmemopen(), makes none.
iot_s64 position_of(FILE* stream) {
  const int fd = descriptor_of(stream);
  if (fd == IOT_NO_FD) {
    const int kept = errno;
    const iot_s64 position = REAL(ftello64)(stream);
    errno = kept;
    return position;
  }
  constexpr int kInBackup =
      0x100; // pushed-back characters are elsewhere, and the buffer is set aside
  const iot_s64 reached = raw_syscall(SYS_lseek, fd, 0, SEEK_CUR);
  if (reached < 0 || stream->_mode > 0)
    return -1;
  flockfile(stream);
  iot_s64 unread = stream->_IO_read_end - stream->_IO_read_ptr;
  if ((stream->_flags & kInBackup) != 0)
    unread += stream->_IO_save_end - stream->_IO_save_base;
  const iot_s64 unwritten = stream->_IO_write_ptr - stream->_IO_write_base;
  funlockfile(stream);
  return reached - unread + unwritten;
}

} // namespace

Target on_memory(const FILE* stream) {
  constexpr int kOfFunctions = -2; // of fopencookie() and fmemopen()
  const bool is_open =
      stream != nullptr && ((stream->_flags & kIsOfFile) == 0 || stream->_fileno == kOfFunctions);
  return is_open ? Target{IOT_NO_FD, memory_file()} : none();
}

Target on_inlined(FILE* stream) {
  const int fd = descriptor_of(stream);
  if (fd == IOT_NO_FD)
    return on_memory(stream);
  Target target = on(fd);
  target.moved = begin_inlined_call(stream);
  return target;
}

Target forget_directory(DIR* dir) {
  return dir != nullptr ? forget(dirfd(dir)) : none();
}

Target forget_range(unsigned first, unsigned last, int flags) {
  if ((static_cast<unsigned>(flags) & CLOSE_RANGE_CLOEXEC) == 0)
    forget_files(first, last);
  return {static_cast<int>(first), 0};
}

Target find_position(FILE* stream) {
  Target target = on_stream(stream);
  target.position = position_of(stream);
  return target;
}

iot_s64 count_moved(const Target& target, FILE* stream, int value) {
  if (value < 0 && stream_failure(stream) != 0)
    return stream_failure(stream);
  const iot_s64 position = position_of(stream);
  return target.position >= 0 && position >= target.position ? position - target.position : 0;
}

namespace {

// The encodings of wide characters in this process's streams.
enum Encodings : iot_u32 { kUtf8 = 1, kOfLocale = 2, kOfStream = 4 };
iot_u32 g_encodings = 0;

iot_u32 add_encoding(iot_u32 encoding) {
  const iot_u32 known = __atomic_load_n(&g_encodings, __ATOMIC_RELAXED);
  return (known & encoding) != 0 ? known
                                 : __atomic_or_fetch(&g_encodings, encoding, __ATOMIC_RELAXED);
}

// Includes the locale's now, and those of earlier calls, because their streams still exist.
iot_u32 encodings() {
  return add_encoding(strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? kUtf8 : kOfLocale);
}

// 0: unknown.
iot_u32 bytes_of(iot_u32 code, iot_u32 encodings) {
  constexpr iot_u32 kSurrogates = 0xd800;
  constexpr iot_u32 kAfterSurrogates = 0xe000;
  constexpr iot_u32 kCodes = 0x110000;
  if ((encodings & kOfStream) != 0)
    return 0;
  if (code < 0x80)
    return 1;
  if (encodings != kUtf8 || code >= kCodes || (code >= kSurrogates && code < kAfterSurrogates))
    return 0;
  return code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

// ",ccs=UTF-16" in the mode of fopen().
void note_encoding(const char* mode) {
  if (mode != nullptr && strstr(mode, ",ccs=") != nullptr)
    add_encoding(kOfStream);
}

} // namespace

iot_s64 count_wide_character(wint_t value, const FILE* stream) {
  const iot_u32 known = encodings();
  return value == WEOF ? stream_failure(stream) : bytes_of(value, known);
}

iot_s64 count_wide_text(bool is_moved, const wchar_t* text, const FILE* stream) {
  const iot_u32 known = encodings();
  if (!is_moved)
    return stream_failure(stream);
  iot_s64 sum = 0;
  for (; *text != 0; ++text) {
    const iot_u32 bytes = bytes_of(__builtin_bit_cast(iot_u32, *text), known);
    if (bytes == 0)
      return 0;
    sum += bytes;
  }
  return sum;
}

iot_s64 wide_form(bool is_moved, const FILE* stream) {
  encodings();
  return is_moved ? 0 : stream_failure(stream);
}

iot_u64 sum_lengths(const iovec* parts, int count, iot_s64 result) {
  if (count <= 0 || count > kVectorMost)
    return 0;
  iot_u64 bytes = 0;
  if (result >= 0) {
    for (int i = 0; i < count; ++i)
      bytes += parts[i].iov_len;
    return bytes;
  }
  iovec copy[kCopiedAtOnce]; // few: the stack may be small
  for (int from = 0; from < count; from += kCopiedAtOnce) {
    const int copied = std::min(kCopiedAtOnce, count - from);
    if (!copy_safely(copy, parts + from, static_cast<iot_u64>(copied) * sizeof(iovec)))
      return 0;
    for (int i = 0; i < copied; ++i)
      bytes += copy[i].iov_len;
  }
  return bytes;
}

iot_s64 offset_before(const off_t* position, iot_s64 result) {
  off_t after = 0;
  if (position == nullptr)
    return IOT_OFFSET_NONE;
  if (result >= 0)
    return *position - result;
  return copy_safely(&after, position, sizeof(after)) ? after : IOT_OFFSET_NONE;
}

iot_u32 empty_path_file(int dir, const char* path, int flags, iot_s64 result) {
  return result >= 0 && (flags & AT_EMPTY_PATH) != 0 && path != nullptr && *path == 0 && dir >= 0
             ? file_of(dir)
             : 0;
}

iot_u32 flags_of_mode(const char* mode) {
  if (mode == nullptr)
    return 0;
  iot_u32 flags = 0;
  bool both = false;
  for (const char* letter = mode + 1; *mode != 0 && *letter != 0 && *letter != ','; ++letter) {
    both |= *letter == '+';
    flags |= *letter == 'x' ? iot_u32{O_EXCL} : 0;
    flags |= *letter == 'e' ? iot_u32{O_CLOEXEC} : 0;
  }
  if (*mode == 'w')
    flags |= O_CREAT | O_TRUNC;
  if (*mode == 'a')
    flags |= O_CREAT | O_APPEND;
  if (both)
    return flags | O_RDWR;
  return *mode == 'r' ? flags : flags | O_WRONLY;
}

void fill_open(iot_app_open& e, int fd, int dir, const char* path, int flags, mode_t mode) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  e.fd = dir;
  e.flags = static_cast<iot_u32>(flags);
  e.mode = creates ? mode : 0;
  e.path = text_of(path, e.result);
  if (fd >= 0)
    e.file = file_of_new(fd);
}

void fill_stream_open(iot_app_open& e, FILE* stream, const char* path, const char* mode) {
  const int fd = descriptor_of(stream);
  note_encoding(mode);
  e.flags = flags_of_mode(mode);
  e.mode = (e.flags & O_CREAT) != 0 ? 0666 : 0;
  e.fd = path != nullptr ? AT_FDCWD : IOT_NO_FD;
  e.path = text_of(path, e.result);
  e.file = fd != IOT_NO_FD ? file_of_new(fd) : 0;
}

} // namespace iotrail::capture::preload
