/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * System calls. The entry gives the task an operation and the time. Everything else is read at the
 * return: the arguments are still in the saved registers, the pages of paths are in memory, and
 * positions are final. syscall_*.bpf.h make the records, by topic.
 *
 * Every call of schema/syscalls.def begins and ends an operation, even if its event is not wanted.
 * The program itself records the most frequent calls (IOT_CALL_PLAIN); a function for each class
 * records the others.
 */
#include "probes/async/async_aio.bpf.h"
#include "probes/syscall/syscall_begin.bpf.h"
#include "probes/syscall/syscall_control.bpf.h"
#include "probes/syscall/syscall_copy.bpf.h"
#include "probes/syscall/syscall_data.bpf.h"
#include "probes/syscall/syscall_descriptors.bpf.h"
#include "probes/syscall/syscall_files.bpf.h"
#include "probes/syscall/syscall_memory.bpf.h"
#include "probes/syscall/syscall_names.bpf.h"
#include "probes/syscall/syscall_network.bpf.h"
#include "probes/syscall/syscall_plain.bpf.h"
#include "probes/vfs/vfs.bpf.h"
#include "track/append.bpf.h"
#include "track/net.bpf.h"
#include "track/self_io.bpf.h"
#include "track/sync_waiter.bpf.h"
#include "track/task_filter.bpf.h"

/*
 * A task may change its name or user at any time. It must be known in its first call to be
 * selected. The operation is examined once the call is known to be the program's own.
 */
static __always_inline void choose_current(struct task_struct* current) {
  if (iot_config.filters_operations)
    iot_current();
  struct iot_task* own = iot_state_of(current);
  if (!own)
    return;
  iot_choose(current, own);
  if (!iot_config.filters_operations)
    return;
  own->keeps_call = 0;
  iot_unsuppress(own, IOT_OTHER_OPERATION);
}

/* Whether a call submits operations of libaio, and in which ABI. */
enum { NO_AIO, NATIVE_AIO, COMPAT_AIO };

/* An excluded call, unless it submits a recorded operation: then it is an operation, too. */
static __noinline int begin_excluded(struct iot_task* task, iot_u64 call) {
  if (!task)
    return NO_AIO;
  iot_suppress(task, IOT_OTHER_OPERATION);
  if (!(call & IOT_CALL_SUBMITS))
    return NO_AIO;
  begin_call(task, call);
  if (IOT_CALL_CLASS(call) != CLASS(aio_submit))
    return NO_AIO;
  return call & IOT_CALL_COMPAT ? COMPAT_AIO : NATIVE_AIO;
}

/* Calls that need more than begin_call(), of any program and any traced task. */
static __noinline int begin_any_call(unsigned long long* ctx) {
  struct task_struct* current = bpf_get_current_task_btf();
  const iot_u64 call = call_of(current, ctx[1]);
  if (call && iot_config.filters_tasks)
    choose_current(current);
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  if (!call)
    return 0;
  const struct pt_regs* regs = (const struct pt_regs*)ctx[0];
  if (iot_may_be_self_io(task, regs) && iot_begin_self_io(call))
    return 0;
  if (call & IOT_CALL_EXCLUDED)
    return begin_excluded(task, call);
  begin_call(task, call);
  if (call & IOT_CALL_MAY_APPEND)
    begin_append(task, regs, call);
  if (!(call & IOT_CALL_IS_LOOKED_AT))
    return 0;
  if (IOT_CALL_CLASS(call) == CLASS(sync))
    begin_sync_call(task, fd_of_call(regs, call));
  else if (IOT_CALL_CLASS(call) == CLASS(aio_submit))
    return call & IOT_CALL_COMPAT ? COMPAT_AIO : NATIVE_AIO;
  else
    look_at_call(task, regs, call, ctx[1]);
  task->entry_ns = bpf_ktime_get_ns();
  return 0;
}

/*
 * Operations are examined here, not in begin_any_call(): Linux 6.1 has no room for another frame.
 */
static __always_inline int begin_seldom_call(unsigned long long* ctx) {
  const int aio = begin_any_call(ctx);
  if (aio != NO_AIO)
    iot_begin_aio_submit(aio == COMPAT_AIO);
  return 0;
}

SEC("?tp_btf/sys_enter")
int syscall_sys_enter(unsigned long long* ctx) {
  struct task_struct* current = bpf_get_current_task_btf();
  const iot_u32 tid = (iot_u32)current->pid;
  struct iot_task* task = iot_bucket_of(tid);
  if (task->live_tid != tid)
    return task->is_shared || iot_adopts() || iot_config.filters_tasks ? begin_seldom_call(ctx) : 0;
  const iot_u64 number = ctx[1];
  if (number >= IOT_SYSCALL_LIMIT || IOT_IS_COMPAT(current))
    return begin_seldom_call(ctx);
  const iot_u64 call = iot_config.calls[number];
  if (!call)
    return 0;
  if (iot_config.filters_tasks || iot_may_be_self_io(task, (struct pt_regs*)ctx[0]))
    return begin_seldom_call(ctx);
  if (call & (IOT_CALL_IS_LOOKED_AT | IOT_CALL_MAY_APPEND)) {
    if (call & IOT_CALL_IS_LOOKED_AT)
      return begin_seldom_call(ctx);
    begin_append(task, (struct pt_regs*)ctx[0], call);
  }
  begin_call(task, call);
  return 0;
}

/*
 * One function for all classes: the kernel's work to load a program grows with the square of its
 * length. Global, like the classes, so that it is checked once. A pointer that it stored would be a
 * number to its callers.
 */
__noinline int iot_describe_return(struct returned* call, iot_s64 result, iot_u64 now_ns) {
  struct task_struct* current = bpf_get_current_task_btf();
  const struct iot_task* task = iot_busy(current);
  if (!call || !task)
    return 0;
  call->is_compat = (task->call & IOT_CALL_COMPAT) != 0;
  call->duration_ns = now_ns - task->entry_ns;
  call->result = visible_result(call->is_compat ? (iot_s32)result : result);
  call->number = IOT_CALL_NUMBER(task->call);
  read_arguments(call->arguments, (const void*)bpf_task_pt_regs(current), call->is_compat);
  return 1;
}

/*
 * Classes of calls: those with an emitter of their own, emit_<class>(), and (class, emitter) for
 * those that share one.
 */
#define CLASSES(OWN, SHARED)                                                                       \
  SHARED(read, transfer)                                                                           \
  SHARED(write, transfer)                                                                          \
  OWN(open)                                                                                        \
  OWN(close)                                                                                       \
  OWN(seek)                                                                                        \
  OWN(stat)                                                                                        \
  OWN(sync)                                                                                        \
  OWN(mmap)                                                                                        \
  OWN(munmap)                                                                                      \
  OWN(truncate)                                                                                    \
  OWN(unlink)                                                                                      \
  OWN(rename)                                                                                      \
  OWN(mkdir)                                                                                       \
  OWN(msync)                                                                                       \
  OWN(copy)                                                                                        \
  OWN(aio_submit)                                                                                  \
  OWN(aio_getevents)                                                                               \
  OWN(uring_enter)                                                                                 \
  OWN(uring_setup)                                                                                 \
  OWN(uring_register)                                                                              \
  OWN(link)                                                                                        \
  OWN(access)                                                                                      \
  OWN(readlink)                                                                                    \
  OWN(setattr)                                                                                     \
  OWN(xattr)                                                                                       \
  OWN(fcntl)                                                                                       \
  OWN(flock)                                                                                       \
  OWN(ioctl)                                                                                       \
  SHARED(statfs, object)                                                                           \
  OWN(readdir)                                                                                     \
  OWN(advise)                                                                                      \
  OWN(dup)                                                                                         \
  SHARED(chdir, object)                                                                            \
  OWN(socket)                                                                                      \
  OWN(connection)                                                                                  \
  SHARED(send, message)                                                                            \
  SHARED(receive, message)                                                                         \
  OWN(poll)                                                                                        \
  OWN(mremap)                                                                                      \
  OWN(sockopt)                                                                                     \
  OWN(epoll_ctl)                                                                                   \
  OWN(descriptor)                                                                                  \
  OWN(pipe)                                                                                        \
  OWN(mount)                                                                                       \
  OWN(close_range)                                                                                 \
  OWN(aio_context)

/* Global to the verifier, which checks each once and, since 6.8, only the reachable ones. */
#define EMITTER(class)                                                                             \
  __noinline int iot_emit_##class(iot_s64 result, iot_u64 now_ns) {                                \
    struct returned call = {};                                                                     \
    const int is_described = iot_describe_return(&call, result, now_ns);                           \
    call.task = iot_busy(bpf_get_current_task_btf());                                              \
    if (is_described && call.task)                                                                 \
      emit_##class(&call);                                                                         \
    return 0;                                                                                      \
  }
#define NO_EMITTER(class, emitter)
EMITTER(transfer)
EMITTER(object)
EMITTER(message)
CLASSES(EMITTER, NO_EMITTER)

#define CASE_OF(class, emitter)                                                                    \
  case CLASS(class):                                                                               \
    return iot_wants(IOT_KIND_syscall_##class) ? iot_emit_##emitter(result, now_ns) : 0;
#define CASE(class) CASE_OF(class, class)

static __always_inline int emit_call(iot_u64 call, iot_s64 result, iot_u64 now_ns) {
  switch (IOT_CALL_CLASS(call)) { CLASSES(CASE, CASE_OF) }
  return 0;
}

/*
 * After the record: a call that succeeded has passed the functions that it cannot succeed without.
 */
static __always_inline void check_below(struct iot_task* task, iot_s64 result, iot_u64 now_ns) {
  if (!iot_config.served_below)
    return;
  const iot_u32 of_call = IOT_CALL_BELOW(task->call);
  const iot_u32 needed = IOT_BELOW(of_call) | task->needs_fsync;
  const iot_u32 missing = needed & iot_config.served_below & ~task->below;
  if (!missing || result < -ERESTART_LAST)
    return;
  const int is_of_call = (missing & IOT_BELOW(of_call)) != 0;
  iot_find_bypassed(is_of_call ? of_call : IOT_KIND_vfs_fsync & 0xff, result, now_ns);
}

static __always_inline void end_call(const struct task_struct* current, struct iot_task* task,
                                     iot_s64 result, iot_u64 now_ns) {
  if (task->wait_start_ns)
    iot_end_missed_wait(task, now_ns);
  check_below(task, result, now_ns);
  iot_op_end(task);
  iot_begin_between(current, task);
}

/* The end of an excluded call: it may reap recorded operations. */
static __noinline int end_suppressed_call(unsigned long long* ctx) {
  struct task_struct* current = bpf_get_current_task_btf();
  const struct pt_regs* regs = (const struct pt_regs*)ctx[0];
  const iot_u64 call = call_of(current, regs->orig_ax);
  if (iot_config.follows_async && IOT_CALL_CLASS(call) == CLASS(aio_getevents))
    iot_reap_aio((iot_s64)ctx[1], (call & IOT_CALL_COMPAT) != 0);
  struct iot_task* own = iot_config.filters_operations ? iot_state_of(current) : 0;
  if (!own)
    return 0;
  iot_op_end(own); /* it submitted nothing that is recorded */
  iot_begin_between(current, own);
  return 0;
}

/* A call is still recorded if it then submits operations that are not. */
static __always_inline void unsuppress_kept_call(struct task_struct* current) {
  struct iot_task* own = iot_config.filters_operations ? iot_state_of(current) : 0;
  if (own && own->keeps_call)
    iot_unsuppress(own, IOT_OTHER_OPERATION);
}

static __noinline int end_own_call(unsigned long long* ctx) {
  iot_end_self_io(ctx);
  struct task_struct* current = bpf_get_current_task_btf();
  struct iot_task* own = iot_config.filters_operations ? iot_state_of(current) : 0;
  if (own)
    iot_begin_between(current, own);
  return 0;
}

/* Learns socket owners from socket calls. */
static __always_inline void follow_socket(const struct pt_regs* regs, iot_u64 call,
                                          iot_s64 result) {
  const iot_u32 number = IOT_CALL_NUMBER(call);
  const iot_u32 class = IOT_CALL_CLASS(call);
  if (number == IOT_syscall_accept || number == IOT_syscall_accept4) {
    if (result >= 0)
      iot_note_accepted((iot_s32)result);
  } else if (number == IOT_syscall_socket) {
    if (result >= 0)
      iot_note_use_of_socket((iot_s32)result);
  } else if (class == CLASS(connection) || class == CLASS(send) || class == CLASS(receive)) {
    iot_note_use_of_socket(fd_of_call(regs, call));
  }
}

static __noinline int end_any_call(unsigned long long* ctx, iot_u64 now_ns) {
  struct task_struct* current = bpf_get_current_task_btf();
  unsuppress_kept_call(current);
  struct iot_task* task = iot_busy(current);
  if (!task && (iot_config.follows_async || iot_config.filters_operations) && iot_is_suppressed())
    return end_suppressed_call(ctx);
  if (!task)
    return iot_config.has_own ? end_own_call(ctx) : 0;
  iot_s64 result = (iot_s64)ctx[1];
  if (!task->owner.op_id) {
    if (!begin_refused_call(ctx, now_ns))
      return 0;
    if (is_refused_by_signal())
      result = -ENOSYS;
  }
  const iot_u64 call = task->call;
  if (task->sync_disk)
    iot_end_sync_of_task(task, task->owner.op_id);
  if (iot_config.follows_async && IOT_CALL_CLASS(call) == CLASS(aio_submit))
    iot_end_aio_submit(result);
  if (iot_config.follows_async && IOT_CALL_CLASS(call) == CLASS(aio_getevents))
    iot_reap_aio(result, (call & IOT_CALL_COMPAT) != 0);
  if (iot_config.follows_connections)
    follow_socket((const struct pt_regs*)ctx[0], call, result);
  if (iot_wants(IOT_KIND_fs_lock) && IOT_CALL_CLASS(call) == CLASS(flock))
    iot_end_flock(result);
  if (call & IOT_CALL_RECORDED) {
    if (iot_config.min_latency_ns)
      task->leaves_out_call = (iot_u32)may_leave_out(task, now_ns - task->entry_ns);
    emit_call(call, result, now_ns);
  }
  end_call(current, task, call & IOT_CALL_COMPAT ? (iot_s32)result : result, now_ns);
  return 0;
}

#define IS_PLAIN (IOT_CALL_PLAIN | IOT_CALL_RECORDED)

SEC("?tp_btf/sys_exit")
int syscall_sys_exit(unsigned long long* ctx) {
  struct task_struct* current = bpf_get_current_task_btf();
  const iot_u32 tid = (iot_u32)current->pid;
  struct iot_task* task = iot_bucket_of(tid);
  const int is_found = task->live_tid == tid;
  if (!is_found && !task->is_shared && task->live_tid != (tid | IOT_SUPPRESSED))
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  const iot_s64 result = (iot_s64)ctx[1];
  if (is_found && task->owner.op_id && (task->call & IS_PLAIN) == IS_PLAIN &&
      emit_plain_call(current, task, (struct pt_regs*)ctx[0], result, now_ns)) {
    end_call(current, task, result, now_ns);
    return 0;
  }
  return end_any_call(ctx, now_ns); /* one copy: the verifier checks each */
}
