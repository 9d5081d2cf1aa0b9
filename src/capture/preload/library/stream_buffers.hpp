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

#include "abi.h"

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

// Records what was moved since the last recorded call. Null: the stream is not followed.
StreamBuffer* follow_buffer(FILE* stream, const Target& target);

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
