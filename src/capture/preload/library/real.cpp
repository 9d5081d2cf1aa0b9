// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/real.hpp"

#include <dlfcn.h>
#include <errno.h>

namespace iotrail::capture::preload {

constinit void* g_real[kHookCount]{};

namespace {

struct HookName {
  const char* name;
  bool gives_pointer;
};

template <class Type> constexpr bool kIsPointer = false;
template <class Type> constexpr bool kIsPointer<Type*> = true;

constexpr HookName kNames[] = {
// clang-format off
#define HOOK(number, event, event_class, type, name, ...) {#name, kIsPointer<type>},
#define VOID_HOOK(number, event, event_class, name, ...) {#name, false},
#define FORMAT_HOOK(number, event, event_class, name, ...) {#name, false},
#define PLAIN(type, name, parameters) {#name, false},
#include "libc_calls.def"
    // clang-format on
};

long missing_number() {
  errno = ENOSYS;
  return -1;
}

void* missing_pointer() {
  errno = ENOSYS;
  return nullptr;
}

} // namespace

void* find_real(HookNumber number) {
  const int kept = errno;
  void* found = dlsym(RTLD_NEXT, kNames[number].name);
  if (found == nullptr)
    found = kNames[number].gives_pointer ? reinterpret_cast<void*>(missing_pointer)
                                         : reinterpret_cast<void*>(missing_number);
  __atomic_store_n(&g_real[number], found, __ATOMIC_RELAXED);
  errno = kept;
  return found;
}

} // namespace iotrail::capture::preload
