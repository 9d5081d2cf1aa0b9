// SPDX-License-Identifier: BSD-3-Clause
//
// Messages to the collector: paths, files and processes that records use.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>

#include "capture/preload/library/attachment.hpp"
#include "capture/preload/library/call_recorder.hpp"
#include "capture/preload/library/path_room.hpp"
#include "capture/preload/library/vfork_children.hpp"
#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

// Position of the next byte of a message; wraps at the end of the ring.
struct Cursor {
  unsigned char* ring;
  iot_u64 ring_bytes; // a power of two
  iot_u64 at;

  void put(const void* data, iot_u64 size) {
    const iot_u64 offset = at & (ring_bytes - 1);
    const iot_u64 first = size < ring_bytes - offset ? size : ring_bytes - offset;
    memcpy(ring + offset, data, first);
    memcpy(ring, static_cast<const unsigned char*>(data) + first, size - first);
    at += size;
  }
};

iot_u32 drop() {
  __atomic_fetch_add(&g_recording.arena->text_full, 1, __ATOMIC_RELAXED);
  return 0;
}

// False: the ring is full.
bool reserve_cells(Context& context, iot_u32 cells, iot_u64* position) {
  ThreadSlot& place = *context.place;
  const iot_u32 all = g_attachment.made.cells;
  iot_u64 head = __atomic_load_n(&place.text_head, __ATOMIC_RELAXED);
  do {
    if (head + cells - __atomic_load_n(&place.text_tail, __ATOMIC_ACQUIRE) > all)
      return false;
    if (place.ready_cells < all && head + cells > place.ready_cells &&
        !make_text_ready(context, head + cells))
      return false;
  } while (!__atomic_compare_exchange_n(&place.text_head, &head, head + cells, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  *position = head;
  return true;
}

// With these errors, the kernel has read the whole path. A seccomp filter, which reads nothing, may
// return any error; most return EPERM.
bool is_proven_readable(iot_s64 result) {
  if (result < 0 && is_confined())
    return false;
  switch (result) {
  case -ENOENT:
  case -EEXIST:
  case -EACCES:
  case -ENOTDIR:
  case -EISDIR:
  case -ENOTEMPTY:
  case -ELOOP:
  case -EROFS:
  case -EXDEV:
  case -EBUSY:
    return true;
  default:
    return result >= 0;
  }
}

// Length of text that may end in unreadable memory; copies up to `room` bytes of it.
iot_u32 copy_text_safely(char* to, const char* from, iot_u32 room) {
  iot_u32 size = 0;
  while (size < room) {
    const iot_u64 at = reinterpret_cast<iot_u64>(from) + size;
    const iot_u64 to_page_end = kPageBytes - at % kPageBytes;
    const iot_u64 piece = to_page_end < room - size ? to_page_end : room - size;
    if (!copy_safely(to + size, from + size, piece))
      break;
    const void* const end = memchr(to + size, 0, piece);
    if (end != nullptr)
      return static_cast<iot_u32>(static_cast<const char*>(end) - to);
    size += static_cast<iot_u32>(piece);
  }
  return size;
}

iot_u32 send_path(const char* text, iot_u32 size) {
  TextHeader header{};
  header.kind = static_cast<iot_u16>(TextKind::path);
  const Bytes part{text, size};
  return send_text(header, &part, 1);
}

} // namespace

iot_u32 read_file(const char* path, char* to, iot_u32 room) {
  const long file = raw_syscall(SYS_openat, AT_FDCWD, address(path), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  const long size = raw_syscall(SYS_read, file, address(to), room);
  raw_syscall(SYS_close, file);
  return size > 0 ? static_cast<iot_u32>(size) : 0;
}

bool copy_safely(void* to, const void* from, iot_u64 bytes) {
  const iovec local{to, bytes};
  const iovec remote{const_cast<void*>(from), bytes};
  return raw_syscall(SYS_process_vm_readv, raw_syscall(SYS_getpid), address(&local), 1,
                     address(&remote), 1, 0) == static_cast<long>(bytes);
}

iot_u32 send_text(TextHeader header, const Bytes* parts, int part_count) {
  Context* const context = claim();
  if (context == nullptr)
    return 0;
  header.bytes = 0;
  for (int i = 0; i < part_count; ++i)
    header.bytes += parts[i].size;
  const iot_u32 cells =
      (static_cast<iot_u32>(sizeof(header)) + header.bytes + kCellBytes - 1) / kCellBytes;
  iot_u64 position = 0;
  if (cells > kTextCellsMax || !reserve_cells(*context, cells, &position))
    return drop();
  header.mark = 0;
  header.cells = static_cast<iot_u16>(cells);
  const iot_u64 ring_bytes = static_cast<iot_u64>(g_attachment.made.cells) * kCellBytes;
  Cursor cursor{context->text, ring_bytes, position * kCellBytes};
  cursor.put(&header, sizeof(header));
  for (int i = 0; i < part_count; ++i)
    cursor.put(parts[i].data, parts[i].size);
  auto* const mark =
      reinterpret_cast<iot_u32*>(context->text + (position * kCellBytes & (ring_bytes - 1)));
  __atomic_store_n(mark, 1, __ATOMIC_RELEASE);
  return static_cast<iot_u32>(position + 1);
}

iot_u32 text_of(const char* path, iot_s64 result) {
  if (path == nullptr)
    return 0;
  if (is_proven_readable(result))
    return send_path(path, static_cast<iot_u32>(strnlen(path, kPathBytes)));
  PathRoom room;
  iot_u32 size = 0;
  const char* const copy = room.filled_by(
      [path](char* to, iot_u32 bytes) { return copy_text_safely(to, path, bytes); }, &size);
  if (copy == nullptr)
    return drop();
  return size != 0 ? send_path(copy, size) : 0;
}

namespace {

// Not on the stack: a process may make its first call on a stack of a few KiB, such as a signal
// handler's.
struct ProcessText {
  char exe[kPathBytes];
  char command[kCommandBytes];
};

} // namespace

void send_process() {
  auto* const text = static_cast<ProcessText*>(map_private(sizeof(ProcessText)));
  if (text == nullptr) {
    drop();
    return;
  }
  char comm[32];
  iot_u32 comm_size = read_file("/proc/self/comm", comm, sizeof(comm));
  if (comm_size != 0 && comm[comm_size - 1] == '\n')
    --comm_size;
  const long exe_size = raw_syscall(SYS_readlinkat, AT_FDCWD, address("/proc/self/exe"),
                                    address(text->exe), sizeof(text->exe));
  const iot_u32 command_size =
      read_file("/proc/self/cmdline", text->command, sizeof(text->command));
  TextHeader header{};
  header.kind = static_cast<iot_u16>(TextKind::process);
  header.number = static_cast<iot_u32>(running_process_id());
  header.device = static_cast<iot_u32>(raw_syscall(SYS_getppid));
  header.inode = ticks();
  const Bytes parts[] = {{comm, comm_size},
                         {"", 1},
                         {text->exe, exe_size > 0 ? static_cast<iot_u32>(exe_size) : 0},
                         {"", 1},
                         {text->command, command_size}};
  send_text(header, parts, 5);
  raw_syscall(SYS_munmap, address(text), sizeof(ProcessText));
}

} // namespace iotrail::capture::preload
