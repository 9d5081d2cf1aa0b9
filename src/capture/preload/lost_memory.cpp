// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/lost_memory.hpp"

#include <signal.h>
#include <sys/mman.h>

#include "capture/preload/raw_syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

constinit iot_u64 g_begin = 0;
constinit iot_u64 g_bytes = 0; // 0: no arena
constinit bool g_is_lost = false;
constinit struct sigaction g_before{};

bool is_in_arena(const siginfo_t& cause) {
  const auto at = reinterpret_cast<iot_u64>(cause.si_addr);
  return cause.si_code > 0 &&
         at - g_begin < g_bytes; // si_code: the kernel's, not somebody's kill()
}

bool take_its_place() {
  const long at = raw_syscall(SYS_mmap, static_cast<long>(g_begin), static_cast<long>(g_bytes),
                              PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return is_address(at);
}

// The instruction that was answered is tried again on return: with memory there now, or with the action of before.
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

void survive_loss_of(void* arena, iot_u64 bytes) {
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
