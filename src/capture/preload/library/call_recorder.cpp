// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/call_recorder.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock_offset.hpp"
#include "capture/preload/library/attachment.hpp"
#include "capture/preload/library/descriptors.hpp"
#include "capture/preload/library/environment.hpp"
#include "capture/preload/library/ring_memory.hpp"
#include "capture/preload/library/stream_buffers.hpp"
#include "capture/preload/library/vfork_children.hpp"
#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

constinit Context g_no_context{};
constinit __thread Context* t_context __attribute__((tls_model("initial-exec"))) = &g_no_context;

namespace {

iot_s64 clock_offset_ns() {
  AttachedProcess& process = *g_attachment.process;
  if (process.has_clock_offset == 0) {
    char text[256];
    text[read_file(kClockOffsetsFile, text, sizeof(text) - 1)] = 0;
    process.clock_offset_ns = monotonic_offset_ns(text);
    process.has_clock_offset = 1;
  }
  return process.clock_offset_ns;
}

} // namespace

iot_u64 clock_ticks() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<iot_u64>(now.tv_sec) * 1'000'000'000U + static_cast<iot_u64>(now.tv_nsec) -
         static_cast<iot_u64>(clock_offset_ns());
}

bool is_left_out(iot_u16 call) {
  return (g_attachment.made.wanted.left_out[call % kCallLimit / 64U] >> (call % 64U) & 1U) != 0;
}

void count_untimed() {
  if (g_recording.arena != nullptr)
    count(g_recording.arena->no_clock);
}

namespace {

iot_u64 pid_namespace() {
  struct stat attributes{};
  const long result =
      raw_syscall(SYS_newfstatat, AT_FDCWD, address("/proc/self/ns/pid"), address(&attributes), 0);
  return result == 0 ? attributes.st_ino : 0;
}

void fill(Context& context, iot_u32 index, ThreadSlot& place, unsigned char* rings) {
  const ArenaHeader& arena = g_attachment.made;
  context.slots = reinterpret_cast<RawRecord*>(rings);
  context.text = rings + text_offset(arena.slots);
  context.limit = 0;
  context.mask = arena.slots - 1;
  context.index = index;
  context.no_memory = 0;
  use_descriptors(context);
  context.place = &place;
}

// A free place; kPlaces: none.
iot_u32 take_place(iot_u64 owner) {
  for (iot_u32 index = 0; index < kPlaces; ++index) {
    iot_u64 expected = 0;
    if (__atomic_load_n(&g_attachment.owners[index], __ATOMIC_RELAXED) == 0 &&
        __atomic_compare_exchange_n(&g_attachment.owners[index], &expected, owner, false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      raise_ready(&g_recording.arena->used_places, index + 1);
      return index;
    }
  }
  return kPlaces;
}

iot_u64 process_namespace() {
  if (g_attachment.process->pid_namespace == 0)
    g_attachment.process->pid_namespace = pid_namespace();
  return g_attachment.process->pid_namespace;
}

// "PID/task/TID", in the numbers of the /proc that is mounted here.
iot_u64 owner_in_proc() {
  char link[64] = "";
  if (raw_syscall(SYS_readlinkat, AT_FDCWD, address("/proc/thread-self"), address(link),
                  sizeof(link) - 1) <= 0)
    return 0;
  const char* at = link;
  iot_s32 ids[2] = {};
  for (iot_s32& id : ids) {
    for (; *at != 0 && (*at < '0' || *at > '9'); ++at) {
    }
    for (; *at >= '0' && *at <= '9'; ++at)
      id = id * 10 + (*at - '0');
  }
  return owner_of(ids[0], ids[1]);
}

// A program in its own pid namespace that still sees the collector's /proc reads its outer ids
// there.
iot_u64 outer_owner(iot_u64 own_namespace, iot_u64 owner) {
  const ArenaHeader& arena = g_attachment.made;
  struct stat attributes{};
  if (own_namespace == arena.pid_namespace)
    return owner;
  if (raw_syscall(SYS_newfstatat, AT_FDCWD, address("/proc"), address(&attributes), 0) != 0 ||
      attributes.st_dev != arena.proc_device)
    return 0;
  return owner_in_proc();
}

Context* take_context(iot_u64 owner, iot_u64 own_namespace) {
  const iot_u32 index = take_place(owner);
  if (index == kPlaces)
    return nullptr;
  ThreadSlot& place = g_attachment.places[index];
  unsigned char* const rings = map_rings(index);
  if (rings == nullptr || !make_first_ready(place, rings)) {
    __atomic_store_n(&g_attachment.owners[index], 0, __ATOMIC_RELEASE);
    return nullptr;
  }
  place.pid_namespace = own_namespace;
  place.outer_owner = outer_owner(place.pid_namespace, owner);
  __atomic_store_n(&place.claim,
                   __atomic_fetch_add(&g_recording.arena->next_claim, 1, __ATOMIC_RELAXED) + 1,
                   __ATOMIC_RELEASE);
  fill(g_attachment.contexts[index], index, place, rings);
  return &g_attachment.contexts[index];
}

// Announces the process too if it is not the host's.
Context* claim_for_vfork_child() {
  Context* const context = take_context(owner_that_runs(), pid_namespace());
  if (context != nullptr && is_vfork_child())
    send_process();
  return context;
}

// For a thread with its own storage.
Context* claim_for_thread() {
  const auto tid = static_cast<iot_s32>(raw_syscall(SYS_gettid));
  Context* const context = take_context(owner_of(process_id(), tid), process_namespace());
  if (context == nullptr)
    return nullptr;
  t_context = context;
  if (g_attachment.has_thread_end)
    pthread_setspecific(g_attachment.thread_end, context);
  if (__atomic_exchange_n(&g_attachment.process->announced, 1, __ATOMIC_RELAXED) == 0)
    send_process();
  return context;
}

} // namespace

iot_s32 process_id() {
  if (g_attachment.process == nullptr)
    return 0;
  if (g_attachment.process->pid == 0 && !is_confined())
    g_attachment.process->pid = static_cast<iot_s32>(raw_syscall(SYS_getpid));
  return g_attachment.process->pid;
}

namespace {

// Null: none.
Context* claimed() {
  if (Context* const context = t_context; context->place != nullptr)
    return context;
  return t_vfork_children.host != nullptr ? find_context() : nullptr;
}

} // namespace

void release_place() {
  Context* const context = claimed();
  if (context == nullptr || (t_vfork_children.host != nullptr && is_confined()))
    return;
  iot_u64* const owner = &g_attachment.owners[context->index];
  t_context = &g_no_context;
  context->place = nullptr;
  __atomic_fetch_or(owner, kOwnerReleased, __ATOMIC_RELEASE);
}

Context* claim() {
  if (Context* const context = claimed(); context != nullptr)
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
  if (Context* const context = claimed(); context != nullptr)
    return context;  // a signal handler was faster
  if (is_confined()) // it could not announce its owner
    return nullptr;
  return t_vfork_children.host != nullptr ? claim_for_vfork_child() : claim_for_thread();
}

namespace {

// False: the ring is full.
bool raise_limit(Context& context) {
  const iot_u64 slots = context.mask + 1;
  const iot_u64 head = __atomic_load_n(&context.place->records.head, __ATOMIC_RELAXED);
  const iot_u64 limit = __atomic_load_n(&context.place->records.tail, __ATOMIC_ACQUIRE) + slots;
  if (!has_memory(context, head))
    return false;
  const iot_u32 ready = context.place->ready_slots;
  context.limit = ready < slots && ready < limit ? ready : limit;
  return head < context.limit;
}

} // namespace

Reserved reserve_slowly(const Context* counted) {
  while (true) {
    Context* const context = claim();
    if (context == nullptr) {
      if (g_recording.arena != nullptr && !g_recording.off) {
        count(g_recording.arena->no_ring);
      }
      return {};
    }
    ThreadSlot& place = *context->place;
    if (context != counted)
      count_produced(place);
    counted = context;
    iot_u64 head = __atomic_load_n(&place.records.head, __ATOMIC_RELAXED);
    if (head >= context->limit && !raise_limit(*context)) {
      if (is_closed()) {
        count_produced(place, -1);
        turn_off();
      } else {
        count(place.records.lost[IOT_LAYER_app - 1]);
      }
      return {};
    }
    if (head < context->limit &&
        __atomic_compare_exchange_n(&place.records.head, &head, head + 1, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return {context, head};
  }
}

namespace {

// An earlier call may have set up the library already; otherwise this does, before the program can
// change its environment.
__attribute__((constructor)) void begin() {
  claim();
  hide_added_variables();
}

// At exit() the thread has made its last calls, except in later destructors, which claim a new
// place.
__attribute__((destructor)) void end() {
  if (!is_off())
    flush_all_buffers(); // the C library does so after this
  release_place();
}

} // namespace
} // namespace iotrail::capture::preload
