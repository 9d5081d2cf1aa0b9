// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/stream_buffers.hpp"

#include "capture/preload/library/calls.hpp"
#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

constinit StreamBuffer g_buffers[kBuffers]{};

namespace {

constexpr iot_u32 kPlacesOfStream = 8;
constexpr int kInBackup = 0x100; // pushed-back characters are elsewhere
bool g_has_buffers = false;
bool g_had_threads = false;

StreamBuffer& place_of(const FILE* stream, iot_u32 number) {
  return g_buffers[(first_place(stream) + number) % kBuffers];
}

StreamBuffer* find_buffer(const FILE* stream, iot_s32 pid) {
  for (iot_u32 number = 0; number < kPlacesOfStream; ++number)
    if (StreamBuffer& buffer = place_of(stream, number);
        __atomic_load_n(&buffer.stream, __ATOMIC_ACQUIRE) == stream && buffer.pid == pid)
      return &buffer;
  return nullptr;
}

// Null: no room.
StreamBuffer* add_buffer(FILE* stream, iot_s32 pid) {
  for (iot_u32 number = 0; number < kPlacesOfStream; ++number) {
    StreamBuffer& buffer = place_of(stream, number);
    FILE* seen = __atomic_load_n(&buffer.stream, __ATOMIC_RELAXED);
    if ((seen == nullptr || seen == stream || buffer.pid != pid) &&
        __atomic_compare_exchange_n(&buffer.stream, &seen, stream, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      buffer.pid = pid;
      buffer.has_inlined_calls = 0;
      g_has_buffers = true;
      end_call(&buffer);
      return &buffer;
    }
  }
  return nullptr;
}

iot_s64 distance(const char* begin, const char* from, const char* to, const char* end) {
  return from != nullptr && begin <= from && from < to && to <= end ? to - from : 0;
}

iot_s64 read_since(const StreamBuffer& buffer, const FILE& stream) {
  return (stream._flags & kInBackup) == 0 ? distance(stream._IO_read_base, buffer.read_to,
                                                     stream._IO_read_ptr, stream._IO_read_end)
                                          : 0;
}
iot_s64 written_since(const StreamBuffer& buffer, const FILE& stream) {
  return distance(stream._IO_write_base, buffer.written_to, stream._IO_write_ptr,
                  stream._IO_buf_end);
}

template <iot_u16 kKind, class Event>
void record(iot_u16 call, const Target& target, iot_s64 bytes) {
  if (bytes == 0)
    return;
  Event e = blank<Event>(target);
  e.bytes_requested = static_cast<iot_u64>(bytes);
  e.result = bytes;
  const iot_u64 now = ticks();
  write_record<kKind, false>(call, now, now, e);
}

void record_moved(const StreamBuffer& buffer, const FILE& stream, const Target& target) {
  record<IOT_KIND_app_read, iot_app_read>(IOT_app_call___uflow, target, read_since(buffer, stream));
  record<IOT_KIND_app_write, iot_app_write>(IOT_app_call___overflow, target,
                                            written_since(buffer, stream));
}

bool is_followed(const StreamBuffer* buffer) {
  if (__libc_single_threaded == 0)
    g_had_threads = true;
  return !g_had_threads || (buffer != nullptr && buffer->has_inlined_calls != 0);
}

} // namespace

StreamBuffer* follow_buffer_slowly(FILE* stream, const Target& target) {
  const iot_s32 pid = process_id();
  StreamBuffer* const buffer = find_buffer(stream, pid);
  if (!is_followed(buffer) || stream->_mode > 0)
    return nullptr;
  if (buffer == nullptr)
    return add_buffer(stream, pid);
  record_moved(*buffer, *stream, target);
  return buffer;
}

MovedBytes begin_inlined_call(FILE* stream) {
  const iot_s32 pid = process_id();
  StreamBuffer* buffer = find_buffer(stream, pid);
  const bool was_followed = is_followed(buffer);
  if (buffer == nullptr)
    buffer = add_buffer(stream, pid);
  if (buffer == nullptr)
    return {nullptr, 0, 0};
  buffer->has_inlined_calls = 1;
  if (!was_followed)
    return {buffer, 0, 0};
  return {buffer, read_since(*buffer, *stream), written_since(*buffer, *stream)};
}

void forget_buffer(FILE* stream, const Target& target) {
  if (StreamBuffer* const buffer = follow_buffer(stream, target); buffer != nullptr)
    __atomic_store_n(&buffer->stream, nullptr, __ATOMIC_RELEASE);
}

// Reads copies, since a function of the C library may have closed a stream and freed its memory
// (endmntent).
void flush_all_buffers() {
  const iot_s32 pid = process_id();
  for (StreamBuffer& buffer : g_buffers) {
    if (!g_has_buffers)
      return;
    FILE* const seen = __atomic_load_n(&buffer.stream, __ATOMIC_ACQUIRE);
    FILE stream;
    if (seen == nullptr || buffer.pid != pid || !is_followed(&buffer) ||
        !copy_safely(&stream, seen, sizeof(stream)))
      continue;
    const int fd = descriptor_of(&stream);
    if (fd == IOT_NO_FD)
      continue;
    record_moved(buffer, stream, on(fd));
    buffer.read_to = stream._IO_read_ptr;
    buffer.written_to = stream._IO_buf_base; // where the C library continues after a flush
  }
}

} // namespace iotrail::capture::preload
