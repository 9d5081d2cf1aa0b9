// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/vfork_children.hpp"

#include <errno.h>
#include <sys/mman.h>

#include "capture/preload/library/attachment.hpp"

namespace iotrail::capture::preload {

constinit __thread VforkChildren t_vfork_children __attribute__((tls_model("initial-exec"))){};

namespace {

Context* find_owned(iot_u64 owner) {
  const iot_u32 used = __atomic_load_n(&g_recording.arena->used_places, __ATOMIC_ACQUIRE);
  for (iot_u32 index = 0; index < used && index < kPlaces; ++index) {
    Context& context = g_attachment.contexts[index];
    if (__atomic_load_n(&g_attachment.owners[index], __ATOMIC_RELAXED) == owner &&
        context.place == &g_attachment.places[index])
      return &context;
  }
  return nullptr;
}

void end_vfork_children() {
  t_context = t_vfork_children.host;
  if (t_vfork_children.room != nullptr)
    return_room(t_vfork_children.room, t_vfork_children.room_bytes);
  t_vfork_children = {};
}

bool is_over() {
  return t_vfork_children.until_gone == kWhileSuspended ||
         (t_vfork_children.until_gone > 0 &&
          raw_syscall(SYS_tkill, t_vfork_children.until_gone, 0) == -ESRCH);
}

} // namespace

iot_u64 owner_that_runs() {
  return owner_of(static_cast<iot_s32>(raw_syscall(SYS_getpid)),
                  static_cast<iot_s32>(raw_syscall(SYS_gettid)));
}

Context* find_context() {
  VforkChildren& vfork_children = t_vfork_children;
  if (is_confined()) // the running task's id is not available
    return vfork_children.host->place != nullptr ? vfork_children.host : nullptr;
  if (vfork_children.host->slots ==
      nullptr) { // wiped: this is a forked child, with its own storage
    vfork_children = {};
    return nullptr;
  }
  const iot_u64 owner = owner_that_runs();
  const iot_u64* const owners = g_attachment.owners;
  if (vfork_children.host->place != nullptr && owners[vfork_children.host->index] == owner) {
    Context* const host = vfork_children.host;
    if (is_over())
      end_vfork_children();
    return host;
  }
  if (vfork_children.last == nullptr || vfork_children.last->place == nullptr ||
      owners[vfork_children.last->index] != owner)
    vfork_children.last = find_owned(owner);
  return vfork_children.last;
}

void expect_vfork_child(iot_s32 until_gone, bool shares_descriptors) {
  Context* const context = claim();
  if (context == nullptr)
    return;
  if (t_vfork_children.host != nullptr) { // made by a vfork child, or there is another one
    if (until_gone != kWhileSuspended)
      t_vfork_children.until_gone = kForEver;
    return;
  }
  t_vfork_children = {
      .host = context, .until_gone = until_gone, .shares_descriptors = shares_descriptors};
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t_context = &g_no_context;
}

void note_vfork_child(iot_s32 id) {
  if (t_vfork_children.host == nullptr || t_vfork_children.until_gone != 0)
    return;
  if (id < 0)
    end_vfork_children();
  else
    t_vfork_children.until_gone = id;
}

bool is_vfork_child() {
  return t_vfork_children.host != nullptr && !is_confined() &&
         raw_syscall(SYS_getpid) != process_id();
}

bool has_other_descriptors() {
  return t_vfork_children.host != nullptr && !t_vfork_children.shares_descriptors &&
         is_vfork_child();
}

void* take_room(iot_u64 bytes) {
  const long at = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!is_address(at))
    return nullptr;
  if (t_vfork_children.room == nullptr && is_vfork_child()) {
    t_vfork_children.room = pointer<void>(at);
    t_vfork_children.room_bytes = bytes;
  }
  return pointer<void>(at);
}

void return_room(void* room, iot_u64 bytes) {
  if (t_vfork_children.room == room)
    t_vfork_children.room = nullptr;
  raw_syscall(SYS_munmap, address(room), static_cast<long>(bytes));
}

iot_s32 running_process_id() {
  return is_vfork_child() ? static_cast<iot_s32>(raw_syscall(SYS_getpid)) : process_id();
}

} // namespace iotrail::capture::preload
