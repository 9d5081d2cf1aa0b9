/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The begin of a system call, also of one that the kernel reports only at its return.
 */
#ifndef IOTRAIL_SYSCALL_BEGIN_BPF_H
#define IOTRAIL_SYSCALL_BEGIN_BPF_H

#include "probes/syscall/syscall_network.bpf.h"
#include "track/call.bpf.h"
#include "track/core.bpf.h"
#include "track/self_io.bpf.h"
#include "track/sync_waiter.bpf.h"

static __always_inline void begin_call(struct iot_task* task, iot_u64 call) {
  iot_op_begin(task);
  task->call = call;
  if (iot_config.min_latency_ns)
    task->has_effects = 0;
  if (iot_config.served_below) {
    task->below = 0;
    task->needs_fsync = 0;
  }
  task->entry_ns = bpf_ktime_get_ns();
}

/* sync(2) has no descriptor: it is for all files. */
static __always_inline void begin_sync_call(struct iot_task* task, iot_s32 fd) {
  const struct file* file = (const struct file*)iot_file_pointer_of_fd(fd);
  if (IOT_CALL_NUMBER(task->call) == IOT_syscall_sync)
    iot_begin_sync_of_task(task, iot_owner_of(task), 0, 0);
  else if (file)
    iot_begin_sync_of_task(task, iot_owner_of(task), file, FILTERS_FILES ? iot_file_of_fd(fd) : 0);
}

/* A call on mapped memory: the call may unmap it. */
static __always_inline void begin_mapped(const struct pt_regs* regs, iot_u64 call) {
  iot_find_file_at(call & IOT_CALL_COMPAT ? IOT_ARGUMENT_0(regs, 1) : IOT_ARGUMENT_0(regs, 0));
}

/* What a call of IOT_CALL_IS_LOOKED_AT may change or overwrite. `own_number`: as the program gave it. */
static __always_inline void look_at_call(struct iot_task* task, const struct pt_regs* regs,
                                         iot_u64 call, iot_u64 own_number) {
  if (IOT_CALL_CLASS(call) == CLASS(close))
    task->entry_file = iot_file_of_fd(fd_of_call(regs, call));
  else if (IOT_CALL_CLASS(call) == CLASS(poll))
    task->timeout_ns = begin_poll(regs, call, own_number);
  else
    begin_mapped(regs, call);
}

/*
 * A call returns that has not begun. A seccomp filter answered it before its entry, or the task was
 * in it when it became traced. Only the latter is possible at a task's first return. 1: it is begun
 * now, so that it has a record of no duration.
 */
static __noinline int begin_refused_call(unsigned long long* ctx, iot_u64 now_ns) {
  struct task_struct* current = bpf_get_current_task_btf();
  struct iot_task* task = iot_busy(current);
  if (!task)
    return 0;
  const struct pt_regs* regs = (const struct pt_regs*)ctx[0];
  const iot_u64 call = call_of(current, regs->orig_ax);
  const int is_first = !task->entry_ns;
  task->entry_ns = now_ns;
  if (!(call & IOT_CALL_RECORDED) || call & IOT_CALL_EXCLUDED)
    return 0;
  if (is_first)
    iot_count(IOT_COUNTER_kernel_call_begun_before);
  if (is_first || iot_may_be_self_io(task, regs))
    return 0;
  begin_call(task, call);
  if (call & IOT_CALL_MAY_APPEND)
    task->append_at = IOT_OFFSET_NONE;
  if (call & IOT_CALL_IS_LOOKED_AT && IOT_CALL_CLASS(call) != CLASS(sync) &&
      IOT_CALL_CLASS(call) != CLASS(aio_submit))
    look_at_call(task, regs, call, regs->orig_ax);
  task->below = ~0U; /* a supervisor of seccomp may let it succeed without the functions below */
  task->entry_ns = now_ns;
  return 1;
}

#define SIGNAL_SYS 31

/* The filter answers with a signal: the register of the result still has the number of the call. */
static __always_inline int is_refused_by_signal(void) {
  return (bpf_get_current_task_btf()->pending.signal.sig[0] & 1UL << (SIGNAL_SYS - 1)) != 0;
}

#endif
