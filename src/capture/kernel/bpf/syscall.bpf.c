/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * System calls. Entry gives the task an operation and the time; everything else is read at the return, where the
 * arguments still lie in the saved registers, the pages of paths are in memory, and positions are final. The records
 * are made by topic: syscall_data.bpf.h, syscall_files.bpf.h, syscall_memory.bpf.h.
 */
#include "syscall_data.bpf.h"
#include "syscall_files.bpf.h"
#include "syscall_memory.bpf.h"

#define EINTR 4
/* Results within the kernel, which a program sees as EINTR, or as a call begun again. */
#define ERESTART_FIRST 512
#define ERESTART_LAST 516

/* Classes: the low byte of the kinds. */
#define CLASS(name) (IO_KIND_syscall_##name & 0xff)

static __always_inline int begin_call(struct pt_regs* regs, long number) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  io_u32 native = (io_u32)number & ~0x40000000U; /* the mark of the x32 ABI */
  if (native >= IO_SYSCALL_LIMIT)
    return 0;
  const io_u32 is_compat = IO_IS_COMPAT(bpf_get_current_task_btf()) != 0;
  const io_u32 call = is_compat ? io_config.compat_calls[native] : io_config.calls[native];
  if (!call)
    return 0;
  task->op_id = io_new_op(task);
  task->call = call;
  task->is_compat = is_compat;
  if (IO_CALL_CLASS(call) == CLASS(close))
    task->entry_file = file_of_fd(task, (io_s32)IO_ARGUMENT_0(regs, is_compat));
  task->entry_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline void emit_rare(struct returned* call, io_u32 class, int compat) {
  switch (class) {
  case CLASS(truncate):
    return truncated(call, compat);
  case CLASS(unlink):
    return unlinked(call, compat);
  case CLASS(rename):
    return renamed(call, compat);
  case CLASS(mkdir):
    return made_directory(call, compat);
  case CLASS(msync):
    return memory_synced(call, compat);
  case CLASS(copy):
    return copied(call, compat);
  case CLASS(aio_submit):
    return aio_submitted(call, compat);
  case CLASS(aio_getevents):
    return aio_reaped(call, compat);
  case CLASS(uring_enter):
    return uring_entered(call, compat);
  }
}

static __always_inline void emit(struct returned* call, io_u32 class, int compat) {
  switch (class) {
  case CLASS(read):
    return transfer(call, IO_KIND_syscall_read, compat);
  case CLASS(write):
    return transfer(call, IO_KIND_syscall_write, compat);
  case CLASS(open):
    return opened(call, compat);
  case CLASS(close):
    return closed(call, compat);
  case CLASS(seek):
    return sought(call, compat);
  case CLASS(stat):
    return looked_up(call, compat);
  case CLASS(sync):
    return synced(call, compat);
  case CLASS(mmap):
    return mapped(call, compat);
  case CLASS(munmap):
    return unmapped(call, compat);
  default:
    return emit_rare(call, class, compat);
  }
}

static __noinline int end_compat_call(struct returned* call, io_u32 class) {
  call->result = (io_s32)call->result;
  emit(call, class, 1);
  return 0;
}

static __always_inline int end_call(struct pt_regs* regs, long result) {
  struct io_task* task = io_current();
  if (!task || !task->op_id)
    return 0;
  const io_u32 class = IO_CALL_CLASS(task->call);
  struct returned call = {
      .regs = regs,
      .task = task,
      .duration_ns = bpf_ktime_get_ns() - task->entry_ns,
      .result = result,
      .number = IO_CALL_NUMBER(task->call),
  };
  if (result <= -ERESTART_FIRST && result >= -ERESTART_LAST)
    call.result = -EINTR;
  if (task->is_compat)
    end_compat_call(&call, class);
  else
    emit(&call, class, 0);
  task->op_id = 0;
  return 0;
}

SEC("?tp_btf/sys_enter")
int BPF_PROG(syscall_sys_enter, struct pt_regs* regs, long number) {
  return begin_call(regs, number);
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(syscall_sys_exit, struct pt_regs* regs, long result) {
  return end_call(regs, result);
}
