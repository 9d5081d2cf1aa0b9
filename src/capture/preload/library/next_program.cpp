// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/next_program.hpp"

#include <fcntl.h>
#include <string.h>

#include "capture/preload/library/call_recorder.hpp"
#include "capture/preload/library/environment.hpp"
#include "capture/preload/library/path_room.hpp"
#include "capture/preload/library/vfork_children.hpp"
#include "capture/preload/shared/preload_blocker.hpp"
#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

// The first file with that name in PATH; null: none.
const char* find_in_path(const char* name, PathRoom& room) {
  const char* folders = environment_value("PATH");
  if (folders == nullptr)
    folders = "/bin:/usr/bin";
  const iot_u64 name_bytes = strlen(name) + 1;
  for (;;) {
    const iot_u64 bytes = strcspn(folders, ":");
    if (char* const joined = room.of(bytes + 1 + name_bytes); joined != nullptr) {
      memcpy(joined, folders, bytes);
      joined[bytes] = '/';
      memcpy(joined + bytes + 1, name, name_bytes);
      const char* const path = bytes == 0 ? name : joined; // empty: the current directory
      if (raw_syscall(SYS_faccessat, AT_FDCWD, address(path), X_OK) == 0)
        return path;
    }
    if (folders[bytes] == 0)
      return nullptr;
    folders += bytes + 1;
  }
}

} // namespace

PreloadBlocker blocker_of(const char* name, const char* const* arguments) {
  if (name == nullptr)
    return PreloadBlocker::none;
  if (strchr(name, '/') != nullptr)
    return blocker_of_path(name, arguments);
  PathRoom room;
  const char* const path = find_in_path(name, room);
  return path != nullptr ? blocker_of_path(path, arguments) : PreloadBlocker::none;
}

void report_blocker(const char* name, PreloadBlocker preload_blocker) {
  if (g_recording.arena == nullptr || g_recording.off || name == nullptr)
    return;
  __atomic_fetch_add(&g_recording.arena->not_followed, 1, __ATOMIC_RELAXED);
  TextHeader header{};
  header.kind = static_cast<iot_u16>(TextKind::preload_blocker);
  header.number = static_cast<iot_u32>(running_process_id());
  header.mode = static_cast<iot_u32>(preload_blocker);
  const Bytes part{name, static_cast<iot_u32>(strnlen(name, kPathBytes))};
  send_text(header, &part, 1);
}

} // namespace iotrail::capture::preload
