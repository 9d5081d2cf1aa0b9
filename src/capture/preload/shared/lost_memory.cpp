// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/shared/lost_memory.hpp"

#include <signal.h>
#include <sys/mman.h>

#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

constinit iot_u64 g_begin = 0;
constinit iot_u64 g_bytes = 0; // 0: no arena
constinit MappedPart g_part = nullptr;
constinit bool g_is_lost = false;
constinit struct sigaction g_before{};

// Calls visit(begin, bytes) for each mapped part of the arena until it returns true.
template <class Visit> bool any_of_arena(Visit visit) {
  if (g_bytes != 0 && visit(g_begin, g_bytes))
    return true;
  for (iot_u32 place = 0; g_part != nullptr && place < kPlaces; ++place) {
    iot_u64 bytes = 0;
    if (const void* const part = g_part(place, &bytes); part != nullptr)
      if (visit(reinterpret_cast<iot_u64>(part), bytes))
        return true;
  }
  return false;
}

bool is_in_arena(const siginfo_t& cause) {
  const auto at = reinterpret_cast<iot_u64>(cause.si_addr);
  return cause.si_code > 0 && // from the kernel, not from kill()
         any_of_arena([&](iot_u64 begin, iot_u64 bytes) { return at - begin < bytes; });
}

bool take_its_place() {
  return !any_of_arena([](iot_u64 begin, iot_u64 bytes) {
    return !is_address(raw_syscall(SYS_mmap, static_cast<long>(begin), static_cast<long>(bytes),
                                   PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  });
}

// On return, the faulting instruction runs again: with memory in place, or with the earlier action.
void on_bus_error(int signal, siginfo_t* cause, void*) {
  if (is_in_arena(*cause) && take_its_place()) {
    __atomic_store_n(&g_is_lost, true, __ATOMIC_RELEASE);
    return;
  }
  sigaction(signal, &g_before, nullptr);
  if (cause->si_code <= 0)
    raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), signal,
                address(cause));
}

bool is_handled() {
  struct sigaction now{};
  return sigaction(SIGBUS, nullptr, &now) == 0 && now.sa_sigaction == on_bus_error;
}

} // namespace

void survive_loss_of(void* arena, iot_u64 bytes, MappedPart part) {
  g_part = part;
  g_begin = reinterpret_cast<iot_u64>(arena);
  g_bytes = bytes;
  g_is_lost = false;
  if (is_handled())
    return;
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(SIGBUS, &action, &g_before);
}

void forget_arena(const void* arena) {
  if (g_begin != reinterpret_cast<iot_u64>(arena))
    return;
  g_bytes = 0;
  if (is_handled())
    sigaction(SIGBUS, &g_before, nullptr);
}

bool is_arena_lost() {
  return __atomic_load_n(&g_is_lost, __ATOMIC_ACQUIRE);
}

} // namespace iotrail::capture::preload
