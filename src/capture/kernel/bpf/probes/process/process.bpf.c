/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Life of tasks. This also implements the filter by process tree: a child is traced because its
 * parent is.
 */
#include "track/core.bpf.h"
#include "track/self_io.bpf.h"
#include "track/sync_waiter.bpf.h"
#include "track/task_filter.bpf.h"

#define SIGNAL_BITS 0x7f
#define STATUS_SHIFT 8
#define STATUS_BITS 0xff

static __always_inline iot_u64 cgroup_of(const struct task_struct* task) {
  if (!bpf_core_field_exists(task->cgroups))
    return 0;
  return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/* A namespace that a kernel was built without may have no type. */
#define NAMESPACE_OF(proxy, member, type)                                                          \
  (bpf_core_field_exists(struct type, ns) ? BPF_CORE_READ(proxy, member, ns.inum) : 0)

/* The numbers in /proc/PID/ns. */
static __always_inline void read_namespaces(struct iot_namespaces* to,
                                            const struct task_struct* task) {
  const struct nsproxy* proxy = BPF_CORE_READ(task, nsproxy);
  const struct pid* pid = BPF_CORE_READ(task, thread_pid);
  to->cgroup = NAMESPACE_OF(proxy, cgroup_ns, cgroup_namespace);
  to->ipc = NAMESPACE_OF(proxy, ipc_ns, ipc_namespace);
  to->mount = NAMESPACE_OF(proxy, mnt_ns, mnt_namespace);
  to->network = NAMESPACE_OF(proxy, net_ns, net);
  to->pid = (iot_u32)namespace_of(pid, BPF_CORE_READ(pid, level));
  to->time = NAMESPACE_OF(proxy, time_ns, time_namespace);
  to->user = BPF_CORE_READ(task, real_cred, user_ns, ns.inum);
  to->uts = NAMESPACE_OF(proxy, uts_ns, uts_namespace);
}

/* Announces a new process to the collector; its program is still its parent's. */
static __always_inline void send_fork(const struct iot_task* parent, const struct iot_task* child,
                                      const struct task_struct* task, iot_u64 ts_ns) {
  struct iot_message_process* message =
      reserve_message(IOT_MESSAGE_FORK, __builtin_offsetof(struct iot_message_process, arguments));
  if (!message)
    return;
  message->ts_ns = ts_ns;
  message->start_ns = BPF_CORE_READ(task, start_time);
  message->cgroup = cgroup_of(task);
  message->pid = child->owner.pid;
  message->parent_pid = parent->owner.pid;
  message->exe_file = 0;
  message->arguments_bytes = 0;
  read_namespaces(&message->namespaces, task);
  bpf_core_read(message->comm, sizeof(message->comm), &task->comm);
  bpf_ringbuf_submit(message, BPF_RB_NO_WAKEUP);
}

/*
 * A new task may have the number of an ended one, but must not get its state. So the states of all
 * new tasks are checked, not only those with a traced parent.
 */
static __always_inline void forget_namesake(iot_u32 tid) {
  struct iot_task* bucket = iot_bucket_of(tid);
  if ((bucket->live_tid & ~IOT_SUPPRESSED) == tid)
    bucket->live_tid = 0;
}

/* The running task, suppressed or not; NULL: it is not followed. */
static __always_inline struct iot_task* followed_task(void) {
  struct iot_task* own = iot_current();
  return own || !iot_config.filters_tasks ? own : iot_state_of(bpf_get_current_task_btf());
}

/* The life of tasks is recorded whichever operations are. */
static __always_inline int is_task_chosen(const struct iot_task* own) {
  return !(own->suppressed_by & ~IOT_OTHER_OPERATION);
}

/* Whether a fork is in the sample does not depend on the last call of its parent. */
static __always_inline int is_of_recording(const struct iot_task* parent) {
  return iot_config.sample_of ? is_chosen_now(bpf_get_current_task_btf()) : is_task_chosen(parent);
}

/* Runs for every new task before it starts, also for threads that the kernel makes for io_uring. */
SEC("?tp_btf/task_newtask")
int BPF_PROG(process_task_newtask, struct task_struct* task, iot_u64 clone_flags) {
  forget_namesake((iot_u32)task->pid);
  struct iot_task* parent = followed_task();
  if (!parent)
    return 0;
  struct iot_task* child = iot_claim(task);
  if (!child)
    return 0;
  iot_inherit_library(child, parent);
  const iot_u64 now_ns = bpf_ktime_get_ns();
  if (child->owner.pid != parent->owner.pid)
    send_fork(parent, child, task, now_ns);
  if (!iot_wants(IOT_KIND_process_fork) || !is_of_recording(parent))
    return 0;
  struct iot_place place;
  struct iot_process_fork* record = IOT_RESERVE(process_fork, &place);
  if (!record)
    return 0;
  record->child_pid = child->owner.pid;
  record->child_tid = child->owner.tid;
  iot_commit(&place, iot_owner_of(parent), now_ns);
  return 0;
}

/* Sends the program that the process of the task executes. */
static __always_inline void send_program(iot_u32 type, const struct task_struct* task,
                                         iot_u32 exe_file, iot_u64 ts_ns) {
  struct iot_message_process* message = reserve_message(type, sizeof(*message));
  if (!message)
    return;
  message->ts_ns = ts_ns;
  message->start_ns = BPF_CORE_READ(task, start_time);
  message->cgroup = cgroup_of(task);
  message->pid = (iot_u32)BPF_CORE_READ(task, tgid);
  message->parent_pid = (iot_u32)BPF_CORE_READ(task, real_parent, tgid);
  message->exe_file = exe_file;
  read_namespaces(&message->namespaces, task);
  bpf_core_read(message->comm, sizeof(message->comm), &task->comm);
  const iot_u64 begin = BPF_CORE_READ(task, mm, arg_start);
  iot_u64 bytes = BPF_CORE_READ(task, mm, arg_end) - begin;
  if (bytes > IOT_PATH_BYTES)
    bytes = IOT_PATH_BYTES;
  const int is_unread = bpf_probe_read_user(message->arguments, (iot_u32)bytes, (const void*)begin);
  message->arguments_bytes = is_unread ? 0 : (iot_u32)bytes;
  bpf_ringbuf_submit(message, BPF_RB_NO_WAKEUP);
  if (is_unread)
    iot_count(IOT_COUNTER_kernel_path_unread);
}

/*
 * A task has entered a recorded control group: its process may have begun after the loader looked,
 * outside the group.
 */
__noinline int iot_tell_adopted(void) {
  send_program(IOT_MESSAGE_ADOPTED, bpf_get_current_task_btf(), 0, bpf_ktime_get_ns());
  return 0;
}

/* The process that the loader named is traced from its first exec on. */
static __always_inline void begin_awaited(iot_u32 tid) {
  struct iot_task* bucket = iot_bucket_of(tid);
  if (bucket->awaits_exec && bucket->owner.tid == tid) {
    bucket->awaits_exec = 0;
    bucket->live_tid = tid;
  }
}

/* A thread that calls exec continues under the id of its process; the first thread has ended. */
static __always_inline struct iot_task* executing_task(struct task_struct* task, iot_u32 old_tid) {
  begin_awaited((iot_u32)task->pid);
  struct iot_task* own = followed_task();
  if (old_tid == (iot_u32)task->pid)
    return own;
  struct iot_task* old = iot_bucket_of(old_tid);
  const int was_traced =
      (old->live_tid & ~IOT_SUPPRESSED) == old_tid && old->owner.pid == (iot_u32)task->tgid;
  if (was_traced)
    old->live_tid = 0;
  if (!own)
    return was_traced ? iot_claim(task) : 0;
  own->owner.tid = (iot_u32)task->pid;
  own->is_dead = 0;
  own->group_exited = 0;
  iot_forget_ops(own);
  return own;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(process_sched_process_exec, struct task_struct* task, int old_tid,
             struct linux_binprm* binary) {
  struct iot_task* own = executing_task(task, (iot_u32)old_tid);
  if (!own)
    return 0;
  if (iot_config.filters_tasks)
    iot_choose(task, own);
  iot_begin_between(task, own);
  iot_expect_library(own);
  const iot_u64 now_ns = bpf_ktime_get_ns();
  const struct file* file = BPF_CORE_READ(binary, file);
  const iot_u32 exe_file = iot_file_of(own, file);
  if (exe_file & IOT_FILE_UNWANTED) {
    const struct iot_file_sight program = {.file = (iot_u64)file};
    iot_file_tell(&program, 1);
  }
  send_program(IOT_MESSAGE_EXEC, task, exe_file, now_ns);
  if (!iot_wants(IOT_KIND_process_exec) || !iot_file_wanted(exe_file) || !is_task_chosen(own))
    return 0;
  const iot_u32 path = iot_string_of_kernel((iot_u64)BPF_CORE_READ(binary, filename));
  struct iot_place place;
  struct iot_process_exec* record = IOT_RESERVE(process_exec, &place);
  if (!record)
    return 0;
  record->path = path;
  record->old_tid = (iot_u32)old_tid;
  iot_commit(&place, iot_owner_of(own), now_ns);
  return 0;
}

/*
 * The count of live threads is already lower, so several threads that end together may all see 0.
 * The first to mark the state of the group's leader, which exists until then, counts as the last.
 */
static __always_inline iot_u32 is_last_of_group(struct task_struct* task) {
  if (BPF_CORE_READ(task, signal, live.counter) != 0)
    return 0;
  struct iot_task* leader = iot_bucket_of((iot_u32)task->tgid);
  if ((leader->live_tid & ~IOT_SUPPRESSED) != (iot_u32)task->tgid)
    leader = bpf_task_storage_get(&tasks, task->group_leader, 0, 0);
  if (!leader)
    return 1;
  leader->is_dead = 1;
  return __sync_lock_test_and_set(&leader->group_exited, 1) == 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(process_sched_process_exit, struct task_struct* task) {
  struct iot_task* own = iot_state_of(bpf_get_current_task_btf());
  const int is_excluded = own && own->suppressed_by & IOT_EXCLUDED_TASK;
  if (own && own->suppressed_by)
    iot_unsuppress(own, own->suppressed_by);
  own = iot_current();
  if (!own)
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  /*
   * A call that a signal ends returns before its task ends: the kernel skipped the program at its
   * return.
   */
  if (own->owner.op_id)
    iot_count(IOT_COUNTER_kernel_span_unfinished);
  if (own->sync_disk)
    iot_end_sync_of_task(own, own->owner.op_id);
  iot_forget_ops(own);
  const iot_u32 is_last = is_last_of_group(task);
  if (own->owner.tid != own->owner.pid)
    own->is_dead = 1;
  if (!iot_wants(IOT_KIND_process_exit) || is_excluded)
    return 0;
  const iot_u32 code = (iot_u32)task->exit_code;
  struct iot_place place;
  struct iot_process_exit* record = IOT_RESERVE(process_exit, &place);
  if (!record)
    return 0;
  record->status = (iot_s32)(code >> STATUS_SHIFT & STATUS_BITS);
  record->signal = code & SIGNAL_BITS;
  record->group_dead = is_last;
  iot_commit(&place, iot_owner_of(own), now_ns);
  return 0;
}
