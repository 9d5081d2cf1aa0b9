// SPDX-License-Identifier: BSD-3-Clause
//
// Hooks without an event: begin and end of tasks that could be mistaken for others, or that hold
// shared resources.
#include <sched.h>

#include "capture/preload/library/calls.hpp"
#include "capture/preload/library/vfork_children.hpp"

namespace iotrail::capture::preload {

// Returns the place at once, so that it is free even if the parent does not reap the child soon.
EXPORTED_HOOK(void, _exit, (int status)) {
  release_place();
  REAL(_exit)(status);
  __builtin_unreachable();
}
EXPORTED_HOOK(void, _Exit, (int status)) {
  release_place();
  REAL(_Exit)(status);
  __builtin_unreachable();
}

// For a child without its own thread-local storage.
template <class Run> int make_vfork_child(int flags, Run run) {
  const bool is_vfork_child_call =
      (flags & CLONE_VM) != 0 && (flags & CLONE_SETTLS) == 0 && !is_off();
  if (!is_vfork_child_call)
    return run();
  expect_vfork_child((flags & CLONE_VFORK) != 0 ? kWhileSuspended : 0, (flags & CLONE_FILES) != 0);
  const int id = run();
  note_vfork_child(id);
  return id;
}

EXPORTED_HOOK(int, clone,
              (int (*begin)(void*), void* stack, int flags, void* argument, pid_t* parent_id,
               void* storage, pid_t* id)) {
  return make_vfork_child(
      flags, [&] { return REAL(clone)(begin, stack, flags, argument, parent_id, storage, id); });
}
EXPORTED_HOOK(int, __clone,
              (int (*begin)(void*), void* stack, int flags, void* argument, pid_t* parent_id,
               void* storage, pid_t* id)) {
  return make_vfork_child(
      flags, [&] { return REAL(__clone)(begin, stack, flags, argument, parent_id, storage, id); });
}

// vfork returns twice, so its hook must not have its own stack frame: it prepares and jumps on.
extern "C" __attribute__((used, visibility("hidden"))) void* iotrail_before_vfork(bool alias) {
  if (!is_off())
    expect_vfork_child(kWhileSuspended, false);
  return alias ? reinterpret_cast<void*>(REAL(__vfork)) : reinterpret_cast<void*>(REAL(vfork));
}

#if defined(__x86_64__)
#define VFORK_HOOK(name, alias)                                                                    \
  __asm__(".pushsection .text\n"                                                                   \
          ".globl " name "\n"                                                                      \
          ".type " name ", @function\n" name ":\n"                                                 \
          ".cfi_startproc\n"                                                                       \
          "endbr64\n"                                                                              \
          "sub $8, %rsp\n"                                                                         \
          ".cfi_adjust_cfa_offset 8\n"                                                             \
          "mov $" alias ", %edi\n"                                                                 \
          "call iotrail_before_vfork\n"                                                            \
          "add $8, %rsp\n"                                                                         \
          ".cfi_adjust_cfa_offset -8\n"                                                            \
          "jmp *%rax\n"                                                                            \
          ".cfi_endproc\n"                                                                         \
          ".size " name ", . - " name "\n"                                                         \
          ".popsection\n")
VFORK_HOOK("vfork", "0");
VFORK_HOOK("__vfork", "1");
#else
#error "vfork needs a few lines of assembly for this machine"
#endif

} // namespace iotrail::capture::preload
