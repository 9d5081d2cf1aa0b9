// SPDX-License-Identifier: BSD-3-Clause
//
// The vocabulary of libc_calls.def: targets before a call, results and fields after it.
#pragma once

#include <errno.h>
#include <string.h>

#include "capture/preload/library/call_recorder.hpp"
#include "capture/preload/library/descriptors.hpp"
#include "capture/preload/library/real.hpp"
#include "capture/preload/library/stream_buffers.hpp"

namespace iotrail::capture::preload {

// The target of a call. Looked up before the call: afterwards the descriptor may belong to another
// file.
struct Target {
  int fd = IOT_NO_FD;
  iot_u32 file = 0;
  iot_s64 position = 0; // only from find_position()
  MovedBytes moved{};   // of streams only
};

inline Target none() {
  return {};
}
IOTRAIL_HOT Target on(int fd) {
  return {fd, file_of(fd)};
}
// Like fileno(), but without its call: a stream in memory (open_memstream) has an uninitialised
// number.
inline constexpr int kIsOfFile = 0x2000; // _IO_IS_FILEBUF of the C library
inline int descriptor_of(const FILE* stream) {
  return stream != nullptr && (stream->_flags & kIsOfFile) != 0 && stream->_fileno >= 0
             ? stream->_fileno
             : IOT_NO_FD;
}
// A stream that is not on a descriptor: memory (fmemopen), or functions of the program
// (fopencookie).
Target on_memory(const FILE* stream);
IOTRAIL_HOT Target on_stream(FILE* stream) {
  const int fd = descriptor_of(stream);
  if (__builtin_expect(fd == IOT_NO_FD, false))
    return on_memory(stream);
  Target target = on(fd);
  target.moved.buffer = follow_buffer(stream, target);
  return target;
}
// For the functions behind inlined calls.
Target on_inlined(FILE* stream);
inline Target on_flushed(FILE* stream) {
  if (stream != nullptr)
    return on_stream(stream);
  flush_all_buffers();
  return none();
}
inline Target on_all_streams() {
  flush_all_buffers();
  return none();
}
inline Target find_mapped(int fd, int flags) {
  return (flags & MAP_ANONYMOUS) == 0 ? on(fd) : Target{fd, 0};
}

inline Target forget(int fd) {
  const Target target = fd >= 0 ? on(fd) : Target{fd, 0};
  set_file(fd, 0);
  return target;
}
inline Target forget_stream(FILE* stream) {
  const int fd = descriptor_of(stream);
  if (fd == IOT_NO_FD)
    return on_memory(stream);
  const Target target = forget(fd);
  forget_buffer(stream, target);
  return target;
}
Target forget_directory(DIR* dir);
Target forget_range(unsigned first, unsigned last, int flags);

// The stream's position, for calls that do not return how much they read.
Target find_position(FILE* stream);
iot_s64 count_moved(const Target& target, FILE* stream, int value);

inline iot_s64 failure() {
  return errno > 0 ? -errno : -EIO;
}
inline iot_s64 stream_failure(const FILE* stream) {
  return (stream->_flags & _IO_ERR_SEEN) != 0 ? failure() : 0; // not set: end of file
}

// The result of a call, from its return value.
template <class Number> IOTRAIL_HOT iot_s64 number_or_error(Number value) {
  return value < 0 ? failure() : static_cast<iot_s64>(value);
}
IOTRAIL_HOT iot_s64 stream_or_error(FILE* value) {
  return value != nullptr ? static_cast<iot_s64>(descriptor_of(value)) : failure();
}
IOTRAIL_HOT iot_s64 count_character(int value, const FILE* stream) {
  return value != EOF ? 1 : stream_failure(stream);
}
// With those that inlined calls moved before.
inline iot_s64 count_inlined(iot_s64 moved, int value, const FILE* stream) {
  const iot_s64 bytes = moved + (value != EOF ? 1 : 0);
  return bytes != 0 ? bytes : stream_failure(stream);
}
// A word may have the value of EOF.
inline iot_s64 count_word(int value, const FILE* stream) {
  return value != EOF || (stream->_flags & (_IO_EOF_SEEN | _IO_ERR_SEEN)) == 0
             ? static_cast<iot_s64>(sizeof(int))
             : stream_failure(stream);
}
IOTRAIL_HOT iot_s64 count_line(const char* value, const FILE* stream) {
  return value != nullptr ? static_cast<iot_s64>(strlen(value)) : stream_failure(stream);
}
IOTRAIL_HOT iot_s64 count_items(size_t value, size_t size, size_t count, const FILE* stream) {
  return value == 0 && size * count != 0 ? stream_failure(stream)
                                         : static_cast<iot_s64>(value * size);
}

// The bytes of wide characters in their stream, after the call moved them. 0: unknown, because the
// C library does not report its conversions. A stream converts by the locale of its first use, or
// by its mode (",ccs="). Known are characters of one byte in every locale (ASCII), and all of UTF-8
// while no wide call was made in another locale. Nothing is known once a stream was opened with its
// own encoding.
iot_s64 count_wide_character(wint_t value, const FILE* stream);
iot_s64 count_wide_text(bool is_moved, const wchar_t* text, const FILE* stream);
// The bytes moved by formatted calls are unknown: they return a number of characters, or of fields.
iot_s64 wide_form(bool is_moved, const FILE* stream);

// Sum of the lengths of a vector that the kernel may have refused.
iot_u64 sum_lengths(const iovec* parts, int count, iot_s64 result);
// The position before a call that moved it by `result`; IOT_OFFSET_NONE: no position argument.
iot_s64 offset_before(const off_t* position, iot_s64 result);
// The file of `dir` if an empty path with AT_EMPTY_PATH means the descriptor itself, else 0.
iot_u32 empty_path_file(int dir, const char* path, int flags, iot_s64 result);

// The open(2) flags of a stream's mode string.
iot_u32 flags_of_mode(const char* mode);

void fill_open(iot_app_open& e, int fd, int dir, const char* path, int flags, mode_t mode);
void fill_stream_open(iot_app_open& e, FILE* stream, const char* path, const char* mode);

// An event with empty fields: no position, no descriptor, else 0.
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
