// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/guests.hpp"

#include <errno.h>

#include "capture/preload/library/attachment.hpp"

namespace iotrail::capture::preload {

constinit __thread Guests t_guests __attribute__((tls_model("initial-exec"))){};

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

void end_guests() {
  t_context = t_guests.host;
  t_guests = {};
}

bool is_over() {
  return t_guests.until_gone == kWhileSuspended ||
         (t_guests.until_gone > 0 && raw_syscall(SYS_tkill, t_guests.until_gone, 0) == -ESRCH);
}

} // namespace

iot_u64 owner_that_runs() {
  return owner_of(static_cast<iot_s32>(raw_syscall(SYS_getpid)),
                  static_cast<iot_s32>(raw_syscall(SYS_gettid)));
}

Context* find_context() {
  Guests& guests = t_guests;
  if (is_confined()) // the running task's id is not available
    return guests.host->place != nullptr ? guests.host : nullptr;
  if (guests.host->slots == nullptr) { // wiped: this is a forked child, with its own storage
    guests = {};
    return nullptr;
  }
  const iot_u64 owner = owner_that_runs();
  const iot_u64* const owners = g_attachment.owners;
  if (guests.host->place != nullptr && owners[guests.host->index] == owner) {
    Context* const host = guests.host;
    if (is_over())
      end_guests();
    return host;
  }
  if (guests.last == nullptr || guests.last->place == nullptr ||
      owners[guests.last->index] != owner)
    guests.last = find_owned(owner);
  return guests.last;
}

void expect_guest(iot_s32 until_gone, bool shares_descriptors) {
  Context* const context = claim();
  if (context == nullptr)
    return;
  if (t_guests.host != nullptr) { // made by a guest, or there is another one
    if (until_gone != kWhileSuspended)
      t_guests.until_gone = kForEver;
    return;
  }
  t_guests = {context, nullptr, until_gone, shares_descriptors};
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t_context = &g_no_context;
}

void note_guest(iot_s32 id) {
  if (t_guests.host == nullptr || t_guests.until_gone != 0)
    return;
  if (id < 0)
    end_guests();
  else
    t_guests.until_gone = id;
}

bool is_guest_process() {
  return t_guests.host != nullptr && !is_confined() && raw_syscall(SYS_getpid) != process_id();
}

bool has_other_descriptors() {
  return t_guests.host != nullptr && !t_guests.shares_descriptors && is_guest_process();
}

iot_s32 running_process_id() {
  return is_guest_process() ? static_cast<iot_s32>(raw_syscall(SYS_getpid)) : process_id();
}

} // namespace iotrail::capture::preload
