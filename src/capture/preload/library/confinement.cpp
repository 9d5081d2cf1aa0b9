// SPDX-License-Identifier: BSD-3-Clause
//
// Hooks without an event: they notice that a program gives up system calls or the clock, or changes
// descriptors without the C library.
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "capture/preload/library/attachment.hpp"
#include "capture/preload/library/calls.hpp"
#include "capture/preload/library/vfork_children.hpp"

namespace iotrail::capture::preload {

namespace {

struct GivenUp {
  bool syscalls = false;
  bool clock = false;
};

// The strict mode of seccomp forbids the time stamp counter too; another clock may need a system
// call.
GivenUp seccomp(bool is_strict) {
  return {.syscalls = true, .clock = is_strict || !g_recording.tsc};
}

GivenUp asked_of_prctl(int option, long value) {
  if (option == PR_SET_SECCOMP)
    return seccomp(value == SECCOMP_MODE_STRICT);
  return {.clock = option == PR_SET_TSC && value == PR_TSC_SIGSEGV};
}

// The C library has no function for seccomp(2).
GivenUp asked_of_syscall(long number, long a, long b) {
  if (number == SYS_prctl)
    return asked_of_prctl(static_cast<int>(a), b);
  if (number != SYS_seccomp || (a != SECCOMP_SET_MODE_STRICT && a != SECCOMP_SET_MODE_FILTER))
    return {};
  return seccomp(a == SECCOMP_SET_MODE_STRICT);
}

// Applies to the whole process, even if only one thread gives up: its new threads inherit it. When
// the last of them ends it (PR_TSC_ENABLE) is unknown. It applies before the kernel's action, so
// that no other thread is killed in between. It does not apply to a vfork child: its memory is its
// host's.
class Confinement {
public:
  explicit Confinement(GivenUp asked)
      : asked_(is_vfork_child() ? GivenUp{} : asked), confined_before_(g_is_confined),
        untimed_before_(g_recording.is_untimed) {
    if (asked_.syscalls)
      __atomic_store_n(&g_is_confined, 1, __ATOMIC_SEQ_CST);
    if (asked_.clock)
      set_untimed(true);
  }
  template <class T> T end(T result) {
    if (asked_.syscalls && result < 0)
      __atomic_store_n(&g_is_confined, confined_before_, __ATOMIC_SEQ_CST);
    if (asked_.clock && result < 0)
      set_untimed(untimed_before_);
    return result;
  }

private:
  GivenUp asked_;
  iot_u32 confined_before_;
  bool untimed_before_;
};

// Descriptors that now have another file, or none.
void forget_changed(long number, long a, long b, long c) {
  if (number == SYS_close)
    set_file(static_cast<int>(a), 0);
  else if (number == SYS_dup2 || number == SYS_dup3)
    set_file(static_cast<int>(b), 0);
  else if (number == SYS_close_range && (c & CLOSE_RANGE_CLOEXEC) == 0)
    forget_files(static_cast<iot_u32>(a), static_cast<iot_u32>(b));
}

} // namespace

EXPORTED_HOOK(int, prctl, (int option, long a, long b, long c, long d)) {
  Confinement confinement(asked_of_prctl(option, a));
  return confinement.end(REAL(prctl)(option, a, b, c, d));
}

EXPORTED_HOOK(long, syscall, (long number, long a, long b, long c, long d, long e, long f)) {
  Confinement confinement(asked_of_syscall(number, a, b));
  const long result = confinement.end(REAL(syscall)(number, a, b, c, d, e, f));
  if (result >= 0 || number == SYS_close) // which may fail and still close
    forget_changed(number, a, b, c);
  return result;
}

} // namespace iotrail::capture::preload
