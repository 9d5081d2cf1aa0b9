// SPDX-License-Identifier: BSD-3-Clause
//
// Hooks that make no event: they see that a program gives up system calls.
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "capture/preload/calls.hpp"
#include "capture/preload/raw_syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

// Of the whole process, though a filter may be one thread's: the threads that it makes have it too. Before the kernel does, so that
// no other thread is killed in between.
class Confinement {
public:
  explicit Confinement(bool is_asked) : is_asked_(is_asked), before_(g_is_confined) {
    if (is_asked_)
      __atomic_store_n(&g_is_confined, 1, __ATOMIC_SEQ_CST);
  }
  template <class T> T end(T result) {
    if (is_asked_ && result < 0)
      __atomic_store_n(&g_is_confined, before_, __ATOMIC_SEQ_CST);
    return result;
  }

private:
  bool is_asked_;
  iot_u32 before_;
};

bool asks_for_seccomp(long number, long operation) {
  return number == SYS_seccomp &&
         (operation == SECCOMP_SET_MODE_STRICT || operation == SECCOMP_SET_MODE_FILTER);
}

} // namespace

EXPORTED_HOOK(int, prctl, (int option, long a, long b, long c, long d)) {
  Confinement confinement(option == PR_SET_SECCOMP);
  return confinement.end(REAL(prctl)(option, a, b, c, d));
}

// The C library has no function for seccomp(2).
EXPORTED_HOOK(long, syscall, (long number, long a, long b, long c, long d, long e, long f)) {
  Confinement confinement(asks_for_seccomp(number, a));
  return confinement.end(REAL(syscall)(number, a, b, c, d, e, f));
}

} // namespace iotrail::capture::preload
