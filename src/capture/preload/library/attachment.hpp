// SPDX-License-Identifier: BSD-3-Clause
//
// The memory that this process shares with the collector once it is attached, and its private
// state. attach() fills it; forked children inherit it.
#pragma once

#include <pthread.h>
#include <signal.h>

#include "capture/preload/library/call_recorder.hpp"
#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

struct AttachedProcess { // wiped in a forked child, which may be in other namespaces
  iot_s32 pid;
  iot_u32 announced;
  iot_u64 pid_namespace;
  iot_s64 clock_offset_ns; // of its time namespace
  iot_u64 has_clock_offset;
};

struct Attachment {
  ArenaHeader made;  // original values; the host may overwrite the shared ones
  Context* contexts; // one per place; wiped in a forked child, which has no rings
  iot_u64* owners;
  ThreadSlot* places;
  pthread_key_t thread_end; // its destructor returns a thread's place
  bool has_thread_end;
  AttachedProcess* process;
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit Attachment g_attachment;

// Attached, and the recording is not known to have ended.
bool is_attached();

// The collector has ended the recording.
bool is_closed();

// Kernel memory that is wiped in a forked child. Null: none.
void* map_private(iot_u64 bytes);

// Stops recording in this process.
void turn_off();

// Whether the program may no longer read the arena's clock.
void set_untimed(bool is_untimed);

inline void count(iot_u64& counter) {
  __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
}

// A signal handler must not find a half-claimed place: its calls would be lost. SIGBUS stays
// unblocked: blocked, it would end the process when the arena's memory is lost.
class SignalsBlocked {
public:
  SignalsBlocked() {
    const iot_u64 others = ~(1ULL << (SIGBUS - 1));
    raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, address(&others), address(&before_),
                sizeof(before_));
  }
  ~SignalsBlocked() {
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, address(&before_), 0, sizeof(before_));
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
  iot_u64 before_ = 0;
};

} // namespace iotrail::capture::preload
