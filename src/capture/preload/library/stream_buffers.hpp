// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes that a program moves through the buffer of a stream without a call that is hooked. The
// compiler inlines getc_unlocked() and putc_unlocked(): they call __uflow() and __overflow() only at
// the end of a buffer. So the library remembers how far the recorded calls came in each buffer. The
// bytes from there on are recorded before the next call on that stream, when it is closed, or when
// the program ends.
//
// Without locks, another thread's call would look like such bytes. So once a process has several
// threads, only streams with an inlined call are followed: these are not for several threads.
#pragma once

#include <stdio.h>
#include <sys/single_threaded.h>

#include "capture/preload/library/attachment.hpp"

namespace iotrail::capture::preload {

struct Target;

// How far recorded calls came.
struct StreamBuffer {
  FILE* stream; // null: unused
  iot_s32 pid;  // a forked child begins anew
  iot_s32 has_inlined_calls;
  const char* read_to;
  const char* written_to;
};

inline constexpr iot_u32 kBuffers = 256;
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit StreamBuffer g_buffers[kBuffers] IOTRAIL_HIDDEN;

inline iot_u32 first_place(const FILE* stream) {
  return static_cast<iot_u32>((reinterpret_cast<iot_u64>(stream) * 0x9e3779b97f4a7c15ULL) >> 56U);
}
static_assert(kBuffers == 1U << 8U, "the hash yields 8 bits");

StreamBuffer* follow_buffer_slowly(FILE* stream, const Target& target);

// Records what was moved since the last recorded call. Null: the stream is not followed.
IOTRAIL_HOT StreamBuffer* follow_buffer(FILE* stream, const Target& target) {
  StreamBuffer& first = g_buffers[first_place(stream)];
  const bool is_as_before = first.stream == stream && __libc_single_threaded != 0 &&
                            first.pid == g_attachment.process->pid &&
                            first.read_to == stream->_IO_read_ptr &&
                            first.written_to == stream->_IO_write_ptr;
  return __builtin_expect(is_as_before, true) ? &first : follow_buffer_slowly(stream, target);
}

// The same without a record, for a call that stands for these bytes: their number.
struct MovedBytes {
  StreamBuffer* buffer;
  iot_s64 read;
  iot_s64 written;
};
MovedBytes begin_inlined_call(FILE* stream);

// After the recorded call.
inline void end_call(StreamBuffer* buffer) {
  if (buffer == nullptr)
    return;
  buffer->read_to = buffer->stream->_IO_read_ptr;
  buffer->written_to = buffer->stream->_IO_write_ptr;
}

// The stream is about to be closed.
void forget_buffer(FILE* stream, const Target& target);

// All streams are about to be flushed.
void flush_all_buffers();

} // namespace iotrail::capture::preload
