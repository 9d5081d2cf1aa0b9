/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The traced tasks. A task is traced if it has a state: this is the filter by process tree. The
 * programs of process.bpf.c make the states of new tasks and free those of dead ones; they are
 * always attached.
 */
#ifndef IOTRAIL_TASK_BPF_H
#define IOTRAIL_TASK_BPF_H

#include "out/ring.bpf.h"

struct iot_task task_states[IOT_TASK_BUCKETS];
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct iot_task);
} tasks SEC(".maps");

#define iot_wants(kind) (iot_config.wanted[(kind) >> 8][(kind) & (IOT_KIND_LIMIT - 1)])

/* Tasks without a state may have to be traced too. */
#define iot_adopts() (iot_config.adopt_all || iot_config.adopt_pids || iot_config.adopt_cgroups)

/* task.bpf.c */
extern iot_u32 recorder_tgid;
extern iot_u32 is_started;
extern iot_u32 is_stopped;
static struct iot_task* iot_current_slow(struct task_struct* current);
static struct iot_task* iot_claim(struct task_struct* task);

static __always_inline struct iot_task* iot_bucket_of(iot_u32 tid) {
  return &task_states[tid & (IOT_TASK_BUCKETS - 1)];
}

/*
 * State of the running task; NULL: it is not traced. In an interrupt it is the state of the
 * interrupted task: programs that may run there (request completion) must not use it.
 */
static __always_inline struct iot_task* iot_current(void) {
  struct task_struct* current = bpf_get_current_task_btf();
  const iot_u32 tid = (iot_u32)current->pid;
  struct iot_task* bucket = iot_bucket_of(tid);
  if (bucket->live_tid == tid)
    return bucket;
  return bucket->is_shared || iot_adopts() || iot_config.filters_tasks ? iot_current_slow(current)
                                                                       : 0;
}

/* The same for a task in an operation: it has a state already, so it need not be adopted. */
static __always_inline struct iot_task* iot_busy(struct task_struct* current) {
  const iot_u32 tid = (iot_u32)current->pid;
  struct iot_task* bucket = iot_bucket_of(tid);
  if (bucket->live_tid == tid)
    return bucket;
  struct iot_task* own = bucket->is_shared ? bpf_task_storage_get(&tasks, current, 0, 0) : 0;
  return own && !own->suppressed_by ? own : 0;
}

/*
 * The state of a followed task, also of a suppressed one, which iot_current() hides since it is not
 * recorded.
 */
static __always_inline struct iot_task* iot_state_of(struct task_struct* task) {
  const iot_u32 tid = (iot_u32)task->pid;
  struct iot_task* bucket = iot_bucket_of(tid);
  if ((bucket->live_tid & ~IOT_SUPPRESSED) == tid)
    return bucket;
  return bucket->is_shared ? bpf_task_storage_get(&tasks, task, 0, 0) : 0;
}

/*
 * The owner of an event in the task's operation, or of work that may have events. The event of a
 * call itself has it from the task: a short call without such events needs none
 * (iot_may_leave_out_call()).
 */
static __always_inline const struct iot_owner* iot_owner_of(struct iot_task* task) {
  if (iot_config.min_latency_ns)
    task->has_effects = 1;
  return &task->owner;
}

/* Changes the bucket if it belongs to the task. */
static __always_inline void iot_suppress(struct iot_task* own, iot_u32 reason) {
  const iot_u32 tid = own->owner.tid;
  own->suppressed_by |= reason;
  __sync_val_compare_and_swap(&iot_bucket_of(tid)->live_tid, tid, tid | IOT_SUPPRESSED);
}

static __always_inline void iot_unsuppress(struct iot_task* own, iot_u32 reasons) {
  const iot_u32 tid = own->owner.tid;
  own->suppressed_by &= ~reasons;
  if (!own->suppressed_by)
    __sync_val_compare_and_swap(&iot_bucket_of(tid)->live_tid, tid | IOT_SUPPRESSED, tid);
}

#endif
