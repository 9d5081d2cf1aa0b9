// SPDX-License-Identifier: BSD-3-Clause
//
// System calls of the library itself, without the C library: its functions are hooked and change
// errno. They return the kernel's result: a negative errno on failure.
#pragma once

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi.h"

namespace iotrail::capture::preload {

// The program has given up system calls (seccomp): an unexpected one of the library might kill it.
// From then on all fail with EPERM.
inline constinit iot_u32 g_is_confined __attribute__((visibility("hidden"))) = 0;

inline bool is_confined() {
  return __atomic_load_n(&g_is_confined, __ATOMIC_RELAXED) != 0;
}

#if defined(__x86_64__)
inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  if (__builtin_expect(is_confined(), false))
    return -EPERM;
  long result = number;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#else
inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  if (__builtin_expect(is_confined(), false))
    return -EPERM;
  const int kept = errno;
  const long value = ::syscall(number, a, b, c, d, e, f);
  const long result = value == -1 ? -errno : value;
  errno = kept;
  return result;
}
#endif

inline long address(const void* pointer) {
  return reinterpret_cast<long>(pointer);
}

// The memory that a system call allocated.
template <class T> T* pointer(long made) {
  return reinterpret_cast<T*>(made); // NOLINT(performance-no-int-to-ptr): the kernel gives a number
}

// Whether a system call that allocates memory returned an address and not an error.
inline bool is_address(long result) {
  return result < -4095 || result > 0;
}

} // namespace iotrail::capture::preload
