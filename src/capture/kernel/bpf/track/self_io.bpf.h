/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * I/O that iotrail causes in a traced program is not the program's: the dynamic linker loads the
 * preload library, the library makes calls of its own, and both touch pages of their files. During
 * such a call the task is suppressed: iot_current() returns NULL until the call returns.
 *
 * A call of the library is recognised by the address that it was made from. The address is known
 * once the linker has mapped the library. Until then, the first calls of a program are examined
 * (`loading_calls`).
 */
#ifndef IOTRAIL_SELF_IO_BPF_H
#define IOTRAIL_SELF_IO_BPF_H

#include "track/call.bpf.h"
#include "track/file.bpf.h"

static __always_inline void iot_expect_library(struct iot_task* task) {
  task->loading_calls = iot_config.has_own ? IOT_LOADING_CALLS : 0;
  task->own_begin = 0;
  task->own_bytes = iot_config.has_own ? ~0ULL : 0;
  task->library_begin = 0;
  task->library_bytes = 0;
}

/* A new task runs the program of its parent. */
static __always_inline void iot_inherit_library(struct iot_task* child,
                                                const struct iot_task* parent) {
  child->loading_calls = parent->loading_calls;
  child->own_begin = parent->own_begin;
  child->own_bytes = parent->own_bytes;
  child->library_begin = parent->library_begin;
  child->library_bytes = parent->library_bytes;
}

/* Whether the call that begins may be iotrail's. */
static __always_inline int iot_may_be_self_io(const struct iot_task* task,
                                              const struct pt_regs* regs) {
  return iot_config.has_own && regs->ip - task->own_begin < task->own_bytes;
}

static __always_inline int is_own_file(iot_u64 inode, iot_u32 device, iot_u32 index) {
  const volatile struct iot_file_key* own = &iot_config.own_files[index];
  return own->inode == inode && own->device == device;
}

static __always_inline int is_library(iot_s32 fd) {
  const struct file* file = (const struct file*)iot_file_pointer_of_fd(fd);
  const struct inode* inode = file ? BPF_CORE_READ(file, f_inode) : 0;
  return inode && is_own_file(BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(inode, i_sb, s_dev),
                              IOT_OWN_LIBRARY);
}

/* A long path is recognised by its end. */
static __noinline int is_path_of_library(iot_u64 path) {
  char end[IOT_OWN_PATH_BYTES];
  return bpf_probe_read_user_str(end, sizeof(end),
                                 (const void*)(path + iot_config.own_path_skipped)) > 0 &&
         bpf_strncmp(end, sizeof(end), (const char*)iot_config.own_path) == 0;
}

static __noinline int is_of_loading(struct iot_task* task, const struct pt_regs* regs,
                                    iot_u64 call) {
  const iot_u32 number = IOT_CALL_NUMBER(call);
  if (number == IOT_syscall_openat)
    return is_path_of_library(argument_of(regs, 1, 0));
  const iot_s32 fd =
      number == IOT_syscall_newfstatat ? (iot_s32)argument_of(regs, 0, 0) : fd_of_call(regs, call);
  if (fd >= 0)
    return is_library(fd);
  return number == IOT_syscall_mmap &&
         argument_of(regs, 0, 0) - task->library_begin < task->library_bytes;
}

/*
 * A call that iot_may_be_self_io() selected begins. True: it is iotrail's, and the task is
 * suppressed. Rare: global, so that it is checked once.
 */
__noinline int iot_begin_self_io(iot_u64 call) {
  struct task_struct* current = bpf_get_current_task_btf();
  const struct pt_regs* regs = (const struct pt_regs*)bpf_task_pt_regs(current);
  struct iot_task* task = iot_busy(current);
  if (!task)
    return 0;
  if (task->loading_calls) {
    if (--task->loading_calls == 0)
      task->own_bytes = 0; /* a program that does not load the library */
    if (!is_of_loading(task, regs, call))
      return 0;
  }
  task->call = call;
  iot_suppress(task, IOT_SELF_IO_CALL);
  return 1;
}

static __always_inline void note_loading(struct iot_task* task, const struct pt_regs* regs,
                                         iot_s64 result) {
  const iot_u32 number = IOT_CALL_NUMBER(task->call);
  if (number == IOT_syscall_mmap && !task->library_bytes && result > 0) {
    task->library_begin = (iot_u64)result; /* the linker maps all of it first, then the parts */
    task->library_bytes = argument_of(regs, 1, 0);
  }
  if (number == IOT_syscall_close) {
    task->loading_calls = 0;
    task->own_begin = task->library_begin;
    task->own_bytes = task->library_bytes;
  }
}

static __noinline int iot_end_self_io(unsigned long long* ctx) {
  struct iot_task* task = iot_state_of(bpf_get_current_task_btf());
  if (!task || !(task->suppressed_by & IOT_SELF_IO_CALL))
    return 0;
  iot_unsuppress(task, IOT_SELF_IO_CALL);
  if (task->loading_calls)
    note_loading(task, (const struct pt_regs*)ctx[0], (iot_s64)ctx[1]);
  return 0;
}

/*
 * For the layers below the calls: a page of such a file that no call of the program asked for. The
 * linker or the library touched it by a fault. A fault is an operation of its own where faults can
 * be traced.
 */
static __always_inline int iot_is_self_io_page(const struct iot_task* task,
                                               const void* inode_pointer) {
  if (!iot_config.has_own)
    return 0;
  if (task && task->owner.op_id && (task->op_depth != 1 || task->owner.parent_op))
    return 0;
  const struct inode* inode = (const struct inode*)inode_pointer;
  const iot_u64 number = BPF_CORE_READ(inode, i_ino);
  if (number != iot_config.own_files[IOT_OWN_LIBRARY].inode &&
      number != iot_config.own_files[IOT_OWN_ARENA].inode)
    return 0;
  const iot_u32 device = BPF_CORE_READ(inode, i_sb, s_dev);
  return is_own_file(number, device, IOT_OWN_LIBRARY) || is_own_file(number, device, IOT_OWN_ARENA);
}

#endif
