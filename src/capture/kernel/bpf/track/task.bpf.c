/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * States of tasks: made when a task is born to a traced parent, or at its first event if a filter
 * names it.
 */
#include "out/message.bpf.h"
#include "track/async.bpf.h"
#include "track/filter.bpf.h"
#include "track/op.bpf.h"
#include "track/task_filter.bpf.h"

iot_u32 recorder_tgid; /* never traced */
iot_u32 is_started;    /* before it is set, only tasks in `task_states` by the loader are traced */
iot_u32 is_stopped;    /* once set, no task is traced, though programs may still be attached */

static __always_inline int is_adopted(iot_u32 tgid) {
  if (!is_started || tgid == recorder_tgid)
    return 0;
  if (iot_config.adopt_all)
    return 1;
  if (iot_config.adopt_pids && bpf_map_lookup_elem(&adopted_pids, &tgid))
    return 1;
  if (iot_config.adopt_cgroups)
    for (iot_u32 index = 0; index < IOT_CGROUP_LIMIT; ++index)
      if (bpf_current_task_under_cgroup(&adopted_cgroups, index) == 1)
        return 1;
  return 0;
}

/* A free bucket, or task storage. NULL: no memory. */
static __always_inline struct iot_task* find_room(struct task_struct* task, iot_u32 tid) {
  struct iot_task* bucket = iot_bucket_of(tid);
  const iot_u32 owner = bucket->live_tid;
  const int is_free = !bucket->awaits_exec && (owner == 0 || owner == tid || bucket->is_dead);
  if (is_free && __sync_val_compare_and_swap(&bucket->live_tid, owner, tid) == owner)
    return bucket;
  bucket->is_shared = 1;
  return bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/*
 * Makes the task traced. Static, so that the verifier knows the type behind the returned pointer.
 */
static __noinline struct iot_task* iot_claim(struct task_struct* task) {
  const iot_u32 tid = (iot_u32)task->pid;
  struct iot_task* own = find_room(task, tid);
  if (!own) {
    iot_count(IOT_COUNTER_kernel_task_untracked);
    return 0;
  }
  /* Files and operation numbers of an earlier task are valid for this one too. */
  own->is_dead = 0;
  own->group_exited = 0;
  own->suppressed_by = 0;
  own->own_bytes = 0;
  own->loading_calls = 0;
  own->span_depth = 0;
  own->op_depth = 0;
  own->wait_start_ns = 0;
  own->entry_ns = 0; /* it has made no call yet */
  own->owner.op_id = 0;
  own->owner.parent_op = 0;
  own->owner.tid = tid;
  own->owner.pid = (iot_u32)task->tgid;
  send_task_of_namespace(task);
  if (iot_config.filters_tasks)
    iot_choose(task, own);
  iot_begin_between(task, own);
  return own;
}

int iot_tell_adopted(void); /* process.bpf.c */

static __noinline struct iot_task* iot_current_slow(struct task_struct* current) {
  struct iot_task* own = iot_state_of(current);
  if (!own && is_adopted((iot_u32)current->tgid)) {
    own = iot_claim(current);
    if (iot_config.adopt_cgroups)
      iot_tell_adopted();
  }
  if (!own || !own->suppressed_by)
    return own;
  return iot_find_suppressed_worker() && iot_async_of(0) ? own : 0;
}

/* Maps a global pid to the namespace of the reader, for the tasks that the reader sees. */
SEC("?iter/task")
int task_numbers(struct bpf_iter__task* listing) {
  const struct task_struct* task = listing->task;
  if (!task)
    return 0;
  const iot_u32 level = BPF_CORE_READ(bpf_get_current_task_btf(), thread_pid, level);
  const struct iot_task_number number = {
      .of_kernel = (iot_u32)BPF_CORE_READ(task, pid),
      .inside = innermost_number(BPF_CORE_READ(task, thread_pid), level)};
  bpf_seq_write(listing->meta->seq, &number, sizeof(number));
  return 0;
}
