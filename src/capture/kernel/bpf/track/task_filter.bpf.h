/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Selects the followed tasks that are recorded: by name, user, number, control group. Selects their
 * calls, if only a sample or some operations are recorded. An excluded task or call is suppressed
 * (task.bpf.h): iot_current() returns NULL, but the children of the task are still followed.
 * Decided when a task is first seen, when it executes a program, and at each system call.
 */
#ifndef IOTRAIL_TASK_FILTER_BPF_H
#define IOTRAIL_TASK_FILTER_BPF_H

#include "track/filter.bpf.h"
#include "track/task.bpf.h"

/* Values: enum iot_verdict. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_CHOICE_LIMIT);
  __type(key, struct iot_choice_key);
  __type(value, iot_u32);
} choices SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_CHOICE_LIMIT);
  __type(key, struct iot_name_key);
  __type(value, iot_u32);
} chosen_names SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
  __uint(max_entries, IOT_CGROUP_LIMIT);
  __type(key, iot_u32);
  __type(value, iot_u32);
} excluded_cgroups SEC(".maps");

static __always_inline int is_chosen_by(enum iot_choice_by by, iot_u32 verdict) {
  return iot_is_good(verdict, iot_config.chosen_by[by] & IOT_WANTED);
}

static __always_inline int is_chosen_by_number(enum iot_choice_by by, iot_u32 number) {
  const struct iot_choice_key key = {.by = by, .number = number};
  return !iot_config.chosen_by[by] || is_chosen_by(by, IOT_VERDICT(choices, &key));
}

static __always_inline int is_chosen_by_name(const struct task_struct* task) {
  struct iot_name_key key = {.bits = 8 * IOT_COMM_BYTES};
  if (!iot_config.chosen_by[IOT_BY_NAME])
    return 1;
  bpf_probe_read_kernel_str(key.name, IOT_COMM_BYTES, &task->comm);
  return is_chosen_by(IOT_BY_NAME, IOT_VERDICT(chosen_names, &key));
}

static __always_inline int is_in_excluded_cgroup(void) {
  for (iot_u32 index = 0; index < IOT_CGROUP_LIMIT && index < iot_config.excluded_cgroups; ++index)
    if (bpf_current_task_under_cgroup(&excluded_cgroups, index) == 1)
      return 1;
  return 0;
}

/* Whether the recording includes the task at all. */
static __noinline int is_chosen(const struct task_struct* task) {
  return is_chosen_by_number(IOT_BY_PROCESS, (iot_u32)BPF_CORE_READ(task, tgid)) &&
         is_chosen_by_number(IOT_BY_TASK, (iot_u32)BPF_CORE_READ(task, pid)) &&
         is_chosen_by_number(IOT_BY_USER, BPF_CORE_READ(task, cred, uid.val)) &&
         is_chosen_by_name(task) && !is_in_excluded_cgroup();
}

static __always_inline int is_in_sample(void) {
  return !iot_config.sample_of || bpf_get_prandom_u32() % iot_config.sample_of == 0;
}

/* Kernel threads make no calls that could be in the sample. */
static __always_inline int is_chosen_now(const struct task_struct* task) {
  const iot_u32 flags = BPF_CORE_READ(task, flags);
  return !(flags & PF_IO_WORKER) && is_chosen(task) && (flags & PF_KTHREAD || is_in_sample());
}

/*
 * Decides whether a task is suppressed from now on: a new task, one that executes a program, or one
 * that calls.
 */
static __noinline int iot_choose(const struct task_struct* task, struct iot_task* own) {
  if (is_chosen_now(task))
    iot_unsuppress(own, IOT_EXCLUDED_TASK);
  else
    iot_suppress(own, IOT_EXCLUDED_TASK);
  return 0;
}

/* For a recording of some operations: the task is in no known operation. */
static __always_inline void iot_begin_between(const struct task_struct* task,
                                              struct iot_task* own) {
  if (!iot_config.filters_operations)
    return;
  const int is_of_kernel = (BPF_CORE_READ(task, flags) & PF_KTHREAD) != 0;
  if (is_of_kernel ? iot_config.names_operations : iot_config.excludes_between)
    iot_suppress(own, IOT_OTHER_OPERATION);
  else
    iot_unsuppress(own, IOT_OTHER_OPERATION);
}

/*
 * Whether an operation of io_uring or libaio (a number of the value table) is recorded, as far as
 * its name decides.
 */
static __always_inline int iot_is_async_chosen(iot_u32 call, int as_unnamed) {
  const iot_u32 of_libaio = call >= IOT_async_call_IOCB_CMD_PREAD;
  const iot_u32 verdict = iot_config.asyncs_chosen[of_libaio][call & (IOT_ASYNC_CALLS - 1)];
  return verdict ? verdict == IOT_WANTED : as_unnamed;
}

/*
 * The running call submits an operation. The task is suppressed until the next one unless the
 * operation is recorded: what the task does meanwhile is done for the operation.
 */
static __always_inline int iot_choose_submitted(struct iot_task* own, iot_u32 call) {
  const int is_chosen = iot_is_async_chosen(call, !(own->call & IOT_CALL_EXCLUDED));
  if (is_chosen) {
    iot_unsuppress(own, IOT_OTHER_OPERATION);
    return 1;
  }
  own->keeps_call |= !own->suppressed_by;
  iot_suppress(own, IOT_OTHER_OPERATION);
  return 0;
}

/*
 * The state of the running task if the kernel made it for io_uring, in a recording that filters
 * tasks. Such threads are suppressed: their work is recorded if the operation that they work for
 * is.
 */
static __always_inline struct iot_task* iot_find_suppressed_worker(void) {
  struct task_struct* current = bpf_get_current_task_btf();
  return iot_config.filters_tasks && current->flags & PF_IO_WORKER ? iot_state_of(current) : 0;
}

/*
 * The same, if it is the thread that polls for operations to submit, and the operation that it
 * submits now (async_call) is recorded.
 */
static __noinline struct iot_task* iot_find_chosen_poller(iot_u32 call) {
  struct iot_task* own = iot_find_suppressed_worker();
  if (!own || !is_chosen(bpf_get_current_task_btf()) || !is_in_sample())
    return 0;
  return !iot_config.filters_operations || iot_is_async_chosen(call, !iot_config.names_operations)
             ? own
             : 0;
}

/* The running task is followed but excluded. */
static __always_inline int iot_is_suppressed(void) {
  if (!iot_config.filters_tasks)
    return 0;
  const struct iot_task* own = iot_state_of(bpf_get_current_task_btf());
  return own && own->suppressed_by & (IOT_EXCLUDED_TASK | IOT_OTHER_OPERATION);
}

/* The same, for a task that works for itself: a kernel thread works for all. */
static __always_inline int iot_is_excluded(void) {
  return iot_is_suppressed() && !(bpf_get_current_task_btf()->flags & PF_KTHREAD);
}

/* For a task with known ids only: no operation. */
static __always_inline void attribute_to_running_task(struct iot_owner* owner) {
  const iot_u64 both = bpf_get_current_pid_tgid();
  owner->pid = (iot_u32)(both >> 32);
  owner->tid = (iot_u32)both;
}

#endif
