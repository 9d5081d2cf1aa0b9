// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/attachment.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "capture/preload/library/environment.hpp"
#include "capture/preload/library/ring_memory.hpp"
#include "capture/preload/shared/lost_memory.hpp"

namespace iotrail::capture::preload {

constinit Recording g_recording{false, false, false, false, 0, 0, nullptr};
constinit Attachment g_attachment{};

namespace {

constexpr int kAttachYields = 1000;
constexpr unsigned kInlineKeys = 32; // up to this number, thread-specific values need no allocation

enum Attached : int { kNotYet, kRunning, kDone };
int g_attached = kNotYet;

} // namespace

void turn_off() {
  g_recording.off = true;
  g_recording.quick_mask = 0;
  __atomic_store_n(&g_recording.on, false, __ATOMIC_RELEASE);
}

void* map_private(iot_u64 bytes) {
  const long at = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!is_address(at))
    return nullptr;
  raw_syscall(SYS_madvise, at, static_cast<long>(bytes), MADV_WIPEONFORK);
  return pointer<void>(at);
}

void set_untimed(bool is_untimed) {
  g_recording.is_untimed = is_untimed;
  const bool is_quick = is_attached() && g_recording.tsc && !is_untimed;
  g_recording.quick_mask =
      is_quick ? g_recording.event_mask & ~g_attachment.made.wanted.mixed_events : 0;
}

bool is_closed() {
  return __atomic_load_n(&g_recording.arena->state, __ATOMIC_ACQUIRE) !=
         static_cast<iot_u32>(ArenaState::open);
}

bool is_attached() {
  return __atomic_load_n(&g_attached, __ATOMIC_ACQUIRE) == kDone && !g_recording.off;
}

namespace {

bool is_ours(const ArenaHeader& header, iot_u64 file_bytes) {
  return header.magic == kArenaMagic && header.version == kArenaVersion &&
         header.places == kPlaces && header.slots != 0 &&
         (header.slots & (header.slots - 1)) == 0 &&
         header.rings_offset == rings_offset(header.places) &&
         header.ring_stride == ring_stride(header.slots) &&
         file_bytes >= header.rings_offset + header.places * header.ring_stride;
}

bool read_header(long file, ArenaHeader* header) {
  struct stat attributes{};
  return raw_syscall(SYS_fstat, file, address(&attributes)) == 0 &&
         raw_syscall(SYS_pread64, file, address(header), sizeof(*header), 0) ==
             static_cast<long>(sizeof(*header)) &&
         is_ours(*header, static_cast<iot_u64>(attributes.st_size));
}

// Not if the host has set an action for SIGBUS, nor if SIGBUS is ignored: the next program would
// not inherit that.
void survive_loss_where_allowed(void* arena, iot_u64 bytes) {
  struct sigaction now{};
  if (sigaction(SIGBUS, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
    survive_loss_of(arena, bytes, mapped_rings);
}

// Maps the arena without the rings, which would need gigabytes of the host's address space; a limit
// may allow less.
unsigned char* map_head(long file, const ArenaHeader& header) {
  const auto bytes = static_cast<long>(header.rings_offset);
  const long at =
      raw_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (!is_address(at))
    return nullptr;
  raw_syscall(SYS_madvise, at, bytes, MADV_DONTDUMP);
  survive_loss_where_allowed(pointer<void>(at), header.rings_offset);
  return pointer<unsigned char>(at);
}

bool map_arena(const char* path) {
  const long file = raw_syscall(SYS_openat, AT_FDCWD, address(path),
                                O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return false;
  ArenaHeader header;
  unsigned char* base = nullptr;
  if (read_header(file, &header))
    base = map_head(file, header);
  raw_syscall(SYS_close, file);
  if (base == nullptr)
    return false;
  g_attachment.owners = reinterpret_cast<iot_u64*>(base + owners_offset());
  g_attachment.places = reinterpret_cast<ThreadSlot*>(base + places_offset(header.places));
  g_attachment.made = header;
  g_recording.arena = reinterpret_cast<ArenaHeader*>(base);
  g_recording.event_mask = header.wanted.events;
  g_recording.tsc = header.clock == static_cast<iot_u32>(ClockKind::tsc);
  return true;
}

void thread_ended(void*) {
  release_place();
}

void attach_once() {
  const char* const path = arena_in_environment();
  if (path == nullptr || !map_arena(path)) {
    turn_off();
    return;
  }
  g_attachment.contexts = static_cast<Context*>(map_private(kPlaces * sizeof(Context)));
  g_attachment.process = static_cast<AttachedProcess*>(map_private(kPageBytes));
  if (g_attachment.contexts == nullptr || g_attachment.process == nullptr) {
    count(g_recording.arena->no_ring);
    turn_off();
    return;
  }
  remember_environment(path);
  g_attachment.has_thread_end = pthread_key_create(&g_attachment.thread_end, thread_ended) == 0 &&
                                g_attachment.thread_end < kInlineKeys;
}

} // namespace

void attach() {
  const SignalsBlocked blocked;
  int expected = kNotYet;
  if (__atomic_compare_exchange_n(&g_attached, &expected, kRunning, false, __ATOMIC_ACQUIRE,
                                  __ATOMIC_ACQUIRE)) {
    attach_once();
    __atomic_store_n(&g_attached, kDone, __ATOMIC_RELEASE);
    set_untimed(g_recording.is_untimed);
    __atomic_store_n(&g_recording.on, !g_recording.off, __ATOMIC_RELEASE);
    return;
  }
  for (int i = 0; i < kAttachYields && expected == kRunning; ++i) {
    raw_syscall(SYS_sched_yield);
    expected = __atomic_load_n(&g_attached, __ATOMIC_ACQUIRE);
  }
}

bool is_off_slowly() {
  if (!g_recording.off)
    attach();
  return !__atomic_load_n(&g_recording.on, __ATOMIC_ACQUIRE);
}

} // namespace iotrail::capture::preload
