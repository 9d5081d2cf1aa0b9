// SPDX-License-Identifier: BSD-3-Clause
//
// The words that libc_calls.def is written in: targets before a call, results and fields after it.
#pragma once

#include <errno.h>
#include <string.h>

#include "capture/preload/descriptors.hpp"
#include "capture/preload/real.hpp"
#include "capture/preload/recorder.hpp"

namespace iotrail::capture::preload {

// What a call works on. Looked up before the call: afterwards the descriptor may be another's.
struct Target {
  int fd = IOT_NO_FD;
  iot_u32 file = 0;
  iot_s64 position = 0; // of positioned() only
};

inline Target none() {
  return {};
}
IOTRAIL_HOT Target on(int fd) {
  return {fd, file_of(fd)};
}
// As fileno() has it, without its call: the number of a stream in memory (open_memstream) was never written.
inline int descriptor_of(FILE* stream) {
  constexpr int kIsOfFile = 0x2000; // _IO_IS_FILEBUF of the C library
  return stream != nullptr && (stream->_flags & kIsOfFile) != 0 && stream->_fileno >= 0
             ? stream->_fileno
             : IOT_NO_FD;
}
IOTRAIL_HOT Target on(FILE* stream) {
  const int fd = descriptor_of(stream);
  return fd != IOT_NO_FD ? on(fd) : none();
}
inline Target mapped(int fd, int flags) {
  return (flags & MAP_ANONYMOUS) == 0 ? on(fd) : Target{fd, 0};
}

inline Target closing(int fd) {
  const Target target = fd >= 0 ? on(fd) : Target{fd, 0};
  set_file(fd, 0);
  return target;
}
inline Target closing(FILE* stream) {
  const int fd = descriptor_of(stream);
  return fd != IOT_NO_FD ? closing(fd) : none();
}
Target closing(DIR* dir);
Target closing_range(unsigned first, unsigned last, int flags);

// The stream's position, for calls that do not tell how much they read.
Target positioned(FILE* stream);
iot_s64 moved(const Target& target, FILE* stream, int value);

inline iot_s64 failure() {
  return errno > 0 ? -errno : -EIO;
}
inline iot_s64 stream_failure(const FILE* stream) {
  return (stream->_flags & _IO_ERR_SEEN) != 0 ? failure() : 0; // not set: the file has ended
}

#define FAILURE failure()
#define NUMBER (value < 0 ? failure() : static_cast<iot_s64>(value))
#define STREAM (value != nullptr ? static_cast<iot_s64>(descriptor_of(value)) : failure())
#define STREAM_FAILURE(stream) stream_failure(stream)
#define GOT_CHARACTER(stream) (value != EOF ? 1 : stream_failure(stream))
#define GOT_LINE(stream)                                                                           \
  (value != nullptr ? static_cast<iot_s64>(strlen(value)) : stream_failure(stream))
#define ITEMS(size, count, stream)                                                                 \
  (value == 0 && (size) * (count) != 0 ? stream_failure(stream)                                    \
                                       : static_cast<iot_s64>(value * (size)))

// Sum of the lengths of a vector that the kernel may have refused.
iot_u64 sum(const iovec* parts, int count, iot_s64 result);
// The position before a call that moved it by `result`; IOT_OFFSET_NONE: the call named none.
iot_s64 offset_before(const off_t* position, iot_s64 result);
// The file of `dir` where an empty path with AT_EMPTY_PATH names the descriptor itself, else 0.
iot_u32 empty_path_file(int dir, const char* path, int flags, iot_s64 result);

// The open(2) flags that a stream's mode string stands for.
iot_u32 flags_of_mode(const char* mode);

void opened(iot_app_open& e, int fd, int dir, const char* path, int flags, mode_t mode);
void opened_stream(iot_app_open& e, FILE* stream, const char* path, const char* mode);

// An event whose fields say "nothing": no position, no descriptor, else 0.
template <class Event> IOTRAIL_HOT Event blank(const Target& target) {
  Event e{};
  if constexpr (requires { e.offset; })
    e.offset = IOT_OFFSET_NONE;
  if constexpr (requires { e.fd; })
    e.fd = target.fd;
  if constexpr (requires { e.file; })
    e.file = target.file;
  return e;
}

} // namespace iotrail::capture::preload
