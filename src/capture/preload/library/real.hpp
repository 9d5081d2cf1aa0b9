// SPDX-License-Identifier: BSD-3-Clause
//
// The functions behind the hooks, resolved at their first use, because hooks may run before any
// constructor.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <wchar.h>

#include "abi.h"

namespace iotrail::capture::preload {

// clang-format off
#define HOOK(number, event, event_class, type, name, parameters, ...) using Function_##name = type parameters;
#define VOID_HOOK(number, event, event_class, name, parameters, ...) using Function_##name = void parameters;
#define FORMAT_HOOK(number, event, event_class, name, real, parameters, ...) using Function_##name = int parameters;
#define PLAIN(type, name, parameters) using Function_##name = type parameters;
#include "libc_calls.def"

enum HookNumber : iot_u16 {
#define APP_CALL(number, name, event, event_class, target) kHook_##name,
#define PLAIN(type, name, parameters) kHook_##name,
#include "libc_calls.def"
  kHookCount
};
// clang-format on

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit void* g_real[kHookCount] __attribute__((visibility("hidden")));

// Finds the function; if the C library lacks it, returns one that fails with ENOSYS.
void* find_real(HookNumber number);

inline void* real_of(HookNumber number) {
  void* const found = __atomic_load_n(&g_real[number], __ATOMIC_RELAXED);
  return __builtin_expect(found != nullptr, true) ? found : find_real(number);
}

#define REAL(name)                                                                                 \
  (reinterpret_cast<Function_##name*>(                                                             \
      ::iotrail::capture::preload::real_of(::iotrail::capture::preload::kHook_##name)))

// A hook written by hand.
#define EXPORTED_HOOK(type, name, parameters)                                                      \
  extern "C" __attribute__((visibility("default"))) type hook_##name parameters __asm__(#name);    \
  extern "C" __attribute__((visibility("default"))) type hook_##name parameters

} // namespace iotrail::capture::preload
