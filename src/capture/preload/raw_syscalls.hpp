// SPDX-License-Identifier: BSD-3-Clause
//
// System calls made by the library itself: not through the C library, whose functions are hooked and touch errno.
// Return what the kernel returns: a negative errno on failure.
#pragma once

#include <sys/syscall.h>

#if !defined(__x86_64__)
#include <cerrno>
#include <unistd.h>
#endif

namespace iotrail::capture::preload {

#if defined(__x86_64__)
inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
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

// The memory that a system call has made.
template <class T> T* pointer(long made) {
  return reinterpret_cast<T*>(made); // NOLINT(performance-no-int-to-ptr): the kernel gives a number
}

// A system call that makes memory gave an address and not an error.
inline bool is_address(long result) {
  return result < -4095 || result > 0;
}

} // namespace iotrail::capture::preload
