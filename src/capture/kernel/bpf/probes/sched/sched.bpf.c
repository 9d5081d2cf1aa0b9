/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Waits of tasks in an operation, and of programs in page faults outside of one. The task that is switched out runs the program, with the run
 * queue locked: nothing here may wake a task.
 */
#include "track/core.bpf.h"

/* A place where tasks wait, innermost function first; unused frames are 0. */
struct wait_place {
  iot_u64 frames[IOT_STACK_FRAMES];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, iot_u32);
  __type(value, struct wait_place);
} wait_place_memory SEC(".maps");

/* Places with known function names: their ids by hash. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IOT_STACK_LIMIT);
  __type(key, iot_u64);
  __type(value, iot_u32);
} wait_places SEC(".maps");

iot_u32 last_stack_id;

static __always_inline iot_u64 hash_place(const struct wait_place* place) {
  iot_u64 hash = 0xcbf29ce484222325ULL; /* FNV-1a, a word at a time */
#pragma unroll
  for (int i = 0; i < IOT_STACK_FRAMES; ++i)
    hash = (hash ^ place->frames[i]) * 0x100000001b3ULL;
  return hash;
}

/* 0: no room. */
static __always_inline iot_u32 send_place(const struct wait_place* place) {
  static const char format[] = "%ps;%ps;%ps;%ps;%ps;%ps;%ps;%ps;%ps;%ps;%ps;%ps";
  struct iot_message_stack* message = reserve_message(IOT_MESSAGE_STACK, sizeof(*message));
  if (!message)
    return 0;
  const long length = bpf_snprintf(message->functions, sizeof(message->functions), format,
                                   (void*)place->frames, sizeof(place->frames));
  iot_u32 depth = 0;
#pragma unroll
  for (int i = 0; i < IOT_STACK_FRAMES; ++i)
    depth += place->frames[i] != 0;
  const iot_u32 id = __sync_fetch_and_add(&last_stack_id, 1) + 1;
  message->depth = length > 0 ? depth : 0;
  message->header.id = id;
  message->header.bytes = sizeof(message->functions);
  bpf_ringbuf_submit(message, BPF_RB_NO_WAKEUP);
  return id;
}

/* Id of the place where the running task is about to wait; 0: unknown. */
static __always_inline iot_u32 find_place(void* context) {
  iot_u32 zero = 0;
  struct wait_place* place = bpf_map_lookup_elem(&wait_place_memory, &zero);
  if (!place ||
      bpf_get_stack(context, place->frames, sizeof(place->frames), IOT_STACK_SKIPPED) <= 0)
    return 0;
  iot_u64 hash = hash_place(place);
  const iot_u32* known = bpf_map_lookup_elem(&wait_places, &hash);
  if (known)
    return *known;
  if (last_stack_id >= IOT_STACK_LIMIT) {
    iot_count(IOT_COUNTER_kernel_stack_unknown);
    return 0;
  }
  /* Sent before it is known: another CPU may use the id from then on. */
  iot_u32 id = send_place(place);
  if (id)
    bpf_map_update_elem(&wait_places, &hash, &id, BPF_NOEXIST);
  return id;
}

static __always_inline iot_u32 state_of(int preempted, iot_u32 kernel_state) {
  if (preempted || !kernel_state)
    return 'R';
  if (kernel_state & IOT_TASK_INTERRUPTIBLE)
    return 'S';
  if (kernel_state & IOT_TASK_UNINTERRUPTIBLE)
    return 'D';
  return kernel_state & IOT_TASK_TRACED ? 't' : 'T';
}

static __always_inline struct iot_task* task_of(struct task_struct* task) {
  return task->pid ? iot_busy(task) : 0;
}

/*
 * Outside of an operation, a program's task waits uninterruptibly only for a page that it touches,
 * unless it ends.
 */
static __always_inline int is_in_page_fault(const struct task_struct* task, int preempted,
                                            iot_u32 kernel_state) {
  return !preempted && kernel_state & IOT_TASK_UNINTERRUPTIBLE &&
         !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_EXITING));
}

static __always_inline void begin_wait(void* context, struct task_struct* prev, int preempted,
                                       iot_u32 kernel_state) {
  struct iot_task* task = task_of(prev);
  if (!task || (!task->owner.op_id && !is_in_page_fault(prev, preempted, kernel_state)))
    return;
  const iot_u64 now_ns = bpf_ktime_get_ns(); /* walking the stack takes longer than some waits */
  if (task->wait_start_ns)
    iot_end_missed_wait(task, now_ns);
  task->wait_state = state_of(preempted, kernel_state);
  task->wait_stack = 0;
  task->woken_ns = 0;
  task->wait_start_ns = now_ns; /* from now on sched_waking may set woken_ns on another CPU */
  if (task->wait_state != 'R')
    task->wait_stack = find_place(context);
}

static __always_inline void end_wait(struct task_struct* next) {
  struct iot_task* task = task_of(next);
  if (task && task->wait_start_ns)
    iot_emit_wait(task, bpf_ktime_get_ns(), 0);
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(sched_switch, int preempted, struct task_struct* prev, struct task_struct* next,
             iot_u32 kernel_state) {
  begin_wait(ctx, prev, preempted, kernel_state);
  end_wait(next);
  return 0;
}

/* Runs in the context of the waker. */
SEC("?tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct* woken) {
  struct iot_task* task = task_of(woken);
  if (task && task->wait_start_ns && !task->woken_ns)
    task->woken_ns = bpf_ktime_get_ns();
  return 0;
}
