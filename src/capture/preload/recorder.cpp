// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/recorder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "capture/preload/descriptors.hpp"
#include "capture/preload/syscalls.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace iotrail::capture::preload {

namespace {

constexpr io_u32 kFirstReady = 1024; // slots given memory when a place is new, and
constexpr io_u32 kMoreReady = 4096;  // whenever they run out, until all have it
constexpr io_u32 kAskAgain = 4096;   // calls lost before memory that was refused is asked for again
constexpr int kAttachYields = 1000;
constexpr unsigned kInlineKeys = 32; // thread-specific values up to here need no allocation

constinit Context g_no_context{};

enum Attached : int { kNotYet, kRunning, kDone };
int g_attached = kNotYet;

Context* g_contexts = nullptr; // one for each place; wiped in a forked child
io_u64* g_owners = nullptr;
Place* g_places = nullptr;
unsigned char* g_rings = nullptr;
io_u32 g_places_mapped = 0;
io_u64 g_pid_namespace = 0;
pthread_key_t g_thread_end = 0;
bool g_has_thread_end = false;

struct Process { // wiped in a forked child
  io_s32 pid;
  io_u32 announced;
};
Process* g_process = nullptr;

} // namespace

constinit __thread Context* t_context __attribute__((tls_model("initial-exec"))) = &g_no_context;
constinit Recording g_recording{false, false, false, 0, nullptr};

io_u64 clock_ticks() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<io_u64>(now.tv_sec) * 1'000'000'000U + static_cast<io_u64>(now.tv_nsec);
}

namespace {

// Handlers must not find a place half claimed: their calls would be lost.
class SignalsBlocked {
public:
  SignalsBlocked() {
    const io_u64 all = ~0ULL;
    raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, address(&all), address(&before_), sizeof(before_));
  }
  ~SignalsBlocked() {
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, address(&before_), 0, sizeof(before_));
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
  io_u64 before_ = 0;
};

void turn_off() {
  g_recording.off = true;
  __atomic_store_n(&g_recording.on, false, __ATOMIC_RELEASE);
}

bool is_closed() {
  return __atomic_load_n(&g_recording.arena->state, __ATOMIC_ACQUIRE) !=
         static_cast<io_u32>(ArenaState::open);
}

void count(io_u64& counter) {
  __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
}

void* map_private(io_u64 bytes) {
  const long at = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!is_address(at))
    return nullptr;
  raw_syscall(SYS_madvise, at, static_cast<long>(bytes), MADV_WIPEONFORK);
  return pointer<void>(at);
}

bool is_ours(const ArenaHeader& header, io_u64 file_bytes) {
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
         is_ours(*header, static_cast<io_u64>(attributes.st_size));
}

// Address space may be limited: then fewer places than there are.
unsigned char* map_rings(long file, const ArenaHeader& header) {
  for (io_u32 places = header.places; places > 0; places /= 4) {
    const io_u64 bytes = header.rings_offset + places * header.ring_stride;
    const long at = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_NONE,
                                MAP_SHARED | MAP_NORESERVE, file, 0);
    if (!is_address(at))
      continue;
    raw_syscall(SYS_madvise, at, static_cast<long>(bytes), MADV_DONTDUMP);
    if (raw_syscall(SYS_mprotect, at, static_cast<long>(header.rings_offset),
                    PROT_READ | PROT_WRITE) != 0)
      return nullptr;
    g_places_mapped = places;
    return pointer<unsigned char>(at);
  }
  return nullptr;
}

bool map_arena(const char* path) {
  const long file =
      raw_syscall(SYS_openat, AT_FDCWD, address(path), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0)
    return false;
  ArenaHeader header;
  unsigned char* base = nullptr;
  if (read_header(file, &header))
    base = map_rings(file, header);
  raw_syscall(SYS_close, file);
  if (base == nullptr)
    return false;
  g_owners = reinterpret_cast<io_u64*>(base + owners_offset());
  g_places = reinterpret_cast<Place*>(base + places_offset(header.places));
  g_rings = base + header.rings_offset;
  g_recording.arena = reinterpret_cast<ArenaHeader*>(base);
  g_recording.event_mask = header.event_mask;
  g_recording.tsc = header.clock == static_cast<io_u32>(ClockKind::tsc);
  return true;
}

io_u64 pid_namespace() {
  struct stat attributes{};
  const long result =
      raw_syscall(SYS_newfstatat, AT_FDCWD, address("/proc/self/ns/pid"), address(&attributes), 0);
  return result == 0 ? attributes.st_ino : 0;
}

void thread_ended(void*) {
  release_place();
}

void attach_once() {
  const char* const path = environment_value(kArenaVariable);
  if (path == nullptr || !map_arena(path)) {
    turn_off();
    return;
  }
  g_contexts = static_cast<Context*>(map_private(kPlaces * sizeof(Context)));
  g_process = static_cast<Process*>(map_private(kPageBytes));
  if (g_contexts == nullptr || g_process == nullptr) {
    count(g_recording.arena->no_ring);
    turn_off();
    return;
  }
  g_pid_namespace = pid_namespace();
  remember_environment(path);
  g_has_thread_end =
      pthread_key_create(&g_thread_end, thread_ended) == 0 && g_thread_end < kInlineKeys;
}

} // namespace

void attach() {
  const SignalsBlocked blocked;
  int expected = kNotYet;
  if (__atomic_compare_exchange_n(&g_attached, &expected, kRunning, false, __ATOMIC_ACQUIRE,
                                  __ATOMIC_ACQUIRE)) {
    attach_once();
    __atomic_store_n(&g_attached, kDone, __ATOMIC_RELEASE);
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

namespace {

bool is_attached() {
  return __atomic_load_n(&g_attached, __ATOMIC_ACQUIRE) == kDone && !g_recording.off;
}

io_u32 raise_ready(io_u32* ready, io_u32 to) {
  io_u32 seen = __atomic_load_n(ready, __ATOMIC_ACQUIRE);
  while (seen < to && !__atomic_compare_exchange_n(ready, &seen, to, false, __ATOMIC_RELEASE,
                                                   __ATOMIC_ACQUIRE)) {
  }
  return seen < to ? to : seen;
}

// Puts memory behind items up to `wanted` before they are touched: a full file system must be an error here and not a
// SIGBUS in the host. Kernels before 5.14 cannot be asked; there the risk stays.
bool make_ready(unsigned char* items, io_u32 item_bytes, io_u32 all, io_u32* ready, io_u32 wanted) {
  const io_u32 from = __atomic_load_n(ready, __ATOMIC_ACQUIRE);
  const io_u32 to = wanted < all ? wanted : all;
  if (from >= to)
    return true;
  const io_u64 begin = static_cast<io_u64>(from) * item_bytes / kPageBytes * kPageBytes;
  const io_u64 bytes = round_to_page(static_cast<io_u64>(to) * item_bytes) - begin;
  const long result = raw_syscall(SYS_madvise, address(items + begin), static_cast<long>(bytes),
                                  MADV_POPULATE_WRITE);
  if (result == -EFAULT || result == -ENOMEM)
    return false;
  raise_ready(ready, to);
  return true;
}

bool make_records_ready(unsigned char* ring, io_u32* ready, io_u32 more) {
  const io_u32 slots = g_recording.arena->slots;
  return make_ready(ring, sizeof(RawRecord), slots, ready, *ready + more);
}

void fill(Context& context, io_u32 index, Place& place, unsigned char* rings) {
  const ArenaHeader& arena = *g_recording.arena;
  context.slots = reinterpret_cast<RawRecord*>(rings);
  context.text = rings + text_offset(arena.slots);
  context.limit = 0;
  context.mask = arena.slots - 1;
  context.place = &place;
  context.index = index;
  context.no_memory = 0;
  context.after_vfork = 0;
  context.ring = &place.records;
}

bool open_rings(Place& place, unsigned char* rings) {
  const ArenaHeader& arena = *g_recording.arena;
  if (raw_syscall(SYS_mprotect, address(rings), static_cast<long>(arena.ring_stride),
                  PROT_READ | PROT_WRITE) != 0)
    return false;
  if (place.ready_slots == 0 && !make_records_ready(rings, &place.ready_slots, kFirstReady))
    return false;
  return place.ready_cells != 0 || make_ready(rings + text_offset(arena.slots), kCellBytes,
                                              arena.cells, &place.ready_cells, kFirstReady);
}

// A free place; kPlaces: there is none.
io_u32 take_place(io_u64 owner) {
  for (io_u32 index = 0; index < g_places_mapped; ++index) {
    io_u64 expected = 0;
    if (__atomic_load_n(&g_owners[index], __ATOMIC_RELAXED) == 0 &&
        __atomic_compare_exchange_n(&g_owners[index], &expected, owner, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      raise_ready(&g_recording.arena->used_places, index + 1);
      return index;
    }
  }
  return kPlaces;
}

Context* take_context() {
  const auto tid = static_cast<io_s32>(raw_syscall(SYS_gettid));
  const io_u32 index = take_place(owner_of(process_id(), tid));
  if (index == kPlaces)
    return nullptr;
  Place& place = g_places[index];
  unsigned char* const rings = g_rings + index * g_recording.arena->ring_stride;
  if (!open_rings(place, rings)) {
    __atomic_store_n(&g_owners[index], 0, __ATOMIC_RELEASE);
    return nullptr;
  }
  place.pid_namespace = g_pid_namespace;
  __atomic_store_n(&place.claim,
                   __atomic_fetch_add(&g_recording.arena->next_claim, 1, __ATOMIC_RELAXED) + 1,
                   __ATOMIC_RELEASE);
  fill(g_contexts[index], index, place, rings);
  t_context = &g_contexts[index];
  return &g_contexts[index];
}

} // namespace

io_s32 process_id() {
  if (g_process == nullptr)
    return 0;
  if (g_process->pid == 0)
    g_process->pid = static_cast<io_s32>(raw_syscall(SYS_getpid));
  return g_process->pid;
}

void release_place() {
  Context* const context = t_context;
  if (context->ring == nullptr || is_vfork_child())
    return;
  io_u64* const owner = &g_owners[context->index];
  t_context = &g_no_context;
  context->ring = nullptr;
  __atomic_fetch_or(owner, kOwnerReleased, __ATOMIC_RELEASE);
}

Context* claim() {
  if (Context* const context = t_context; context->ring != nullptr)
    return context;
  if (!is_attached())
    attach();
  if (!is_attached())
    return nullptr;
  if (is_closed()) {
    turn_off();
    return nullptr;
  }
  const SignalsBlocked blocked;
  if (Context* const context = t_context; context->ring != nullptr)
    return context; // a handler was faster
  Context* const context = take_context();
  if (context == nullptr)
    return nullptr;
  if (g_has_thread_end)
    pthread_setspecific(g_thread_end, context);
  if (__atomic_exchange_n(&g_process->announced, 1, __ATOMIC_RELAXED) == 0)
    send_process();
  return context;
}

namespace {

// Memory behind the records at `head`. Asking in vain is slow, so that it is not done at every call.
bool has_memory(Context& context, io_u64 head) {
  io_u32* const ready = &context.place->ready_slots;
  if (*ready > context.mask || head < *ready)
    return true;
  if (context.no_memory != 0) {
    --context.no_memory;
    return false;
  }
  if (make_records_ready(reinterpret_cast<unsigned char*>(context.slots), ready, kMoreReady))
    return true;
  context.no_memory = kAskAgain;
  return false;
}

// False: the ring is full.
bool raise_limit(Context& context) {
  const io_u64 slots = context.mask + 1;
  const io_u64 head = __atomic_load_n(&context.ring->head, __ATOMIC_RELAXED);
  const io_u64 limit = __atomic_load_n(&context.ring->tail, __ATOMIC_ACQUIRE) + slots;
  if (!has_memory(context, head))
    return false;
  const io_u32 ready = context.place->ready_slots;
  context.limit = ready < slots && ready < limit ? ready : limit;
  return head < context.limit;
}

} // namespace

bool make_text_ready(Context& context, io_u64 wanted) {
  const io_u32 all = g_recording.arena->cells;
  if (context.no_memory != 0)
    return false;
  return make_ready(context.text, kCellBytes, all, &context.place->ready_cells,
                    static_cast<io_u32>(wanted < all ? wanted : all) + kFirstReady);
}

Context* reserve_slowly(io_u64* position) {
  while (true) {
    Context* const context = claim();
    if (context == nullptr) {
      if (g_recording.arena != nullptr && !g_recording.off)
        count(g_recording.arena->no_ring);
      return nullptr;
    }
    io_u64 head = __atomic_load_n(&context->ring->head, __ATOMIC_RELAXED);
    if (head >= context->limit && !raise_limit(*context)) {
      if (is_closed())
        turn_off();
      else
        count(context->ring->lost[IO_LAYER_app - 1]);
      return nullptr;
    }
    if (head < context->limit &&
        __atomic_compare_exchange_n(&context->ring->head, &head, head + 1, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      *position = head;
      return context;
    }
  }
}

namespace {

// The library may be set up by an earlier call already; here at the latest, before the program can change its
// environment.
__attribute__((constructor)) void begin() {
  claim();
}

// At exit() the thread has made its last calls but for those of later destructors, which claim a new place.
__attribute__((destructor)) void end() {
  release_place();
}

} // namespace
} // namespace iotrail::capture::preload
