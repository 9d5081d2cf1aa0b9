/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The operation that a task is in, whatever is recorded. A system call begins one. A page fault
 * begins one inside it, or one of its own. Everything below is attributed to the innermost (struct
 * iot_owner).
 *
 *   iot_op_enter(task) ... iot_op_leave(task)     an operation inside the one in progress, if any
 *   iot_op_begin(task) ... iot_op_end(task)       a system call: never inside another
 *
 * Spans begin in one program, end in another, and nest: a write may need a fsync, a stacked file
 * system calls the one below. They end in the reverse order of their begins.
 *
 *   struct iot_span *span = iot_span_begin(task, IOT_KIND_x, object);
 *   if (span) ...                                  fill the rest, start_ns last
 *   ...
 *   struct iot_span *span = iot_span_end(task, IOT_KIND_x, object);
 *   if (span) ...                                  valid until the task's next begin
 */
#ifndef IOTRAIL_OP_BPF_H
#define IOTRAIL_OP_BPF_H

#include "track/task.bpf.h"

/* The first number of an unused block. No operation has a number that ends in 0 or 1. */
static __noinline iot_u64 iot_new_op_block(void) {
  struct iot_cpu* own = iot_this_cpu();
  const iot_u64 block = __sync_fetch_and_add(&own->next_op_block, 1);
  const iot_u64 cpu = (iot_u64)bpf_get_smp_processor_id();
  return cpu << IOT_OP_MAKER_SHIFT | (block * IOT_OP_BLOCK + 2);
}

/* A new number for the task: unique in the recording, without access to memory that CPUs share. */
static __always_inline iot_u64 iot_new_op(struct iot_task* task) {
  iot_u64 op_id = task->last_op + 1;
  if ((op_id & (IOT_OP_BLOCK - 1)) <= 1) /* never used, or the block is used up */
    op_id = iot_new_op_block();
  task->last_op = op_id;
  return op_id;
}

/* Emits a wait that is over. `result` 0: it ends now; IOT_UNFINISHED: it ended some time before. */
static __noinline int iot_emit_wait(struct iot_task* task, iot_u64 now_ns, iot_s32 result) {
  const iot_u64 start_ns = task->wait_start_ns;
  task->wait_start_ns = 0;
  struct iot_owner owner = *iot_owner_of(task);
  if (result && start_ns < task->entry_ns) { /* before the call in progress */
    now_ns = task->entry_ns;
    owner.op_id = 0;
    owner.parent_op = 0;
  }
  const iot_u64 woken_ns = task->wait_state == 'R' ? start_ns : task->woken_ns;
  struct iot_place place;
  struct iot_sched_wait* record = IOT_RESERVE(sched_wait, &place);
  if (!record)
    return 0;
  record->duration_ns = now_ns - start_ns;
  record->runnable_ns = woken_ns && woken_ns < now_ns ? now_ns - woken_ns : 0;
  record->stack = task->wait_stack;
  record->state = task->wait_state;
  record->result = result;
  iot_commit(&place, &owner, start_ns);
  return 0;
}

/* The task runs, but the end of its wait was missed: docs/adr/0007. */
static __noinline int iot_end_missed_wait(struct iot_task* task, iot_u64 now_ns) {
  iot_count(IOT_COUNTER_kernel_wait_end_missed);
  return iot_emit_wait(task, now_ns, IOT_UNFINISHED);
}

/* Spans and operations without a reported end: the kernel skips programs under recursion. */
static __always_inline void forget_ops(struct iot_task* task) {
  for (iot_u32 depth = 0; depth < IOT_SPAN_DEPTH && depth < task->span_depth; ++depth)
    iot_lose(IOT_COUNTER_kernel_span_lost);
  if (task->wait_start_ns)
    iot_end_missed_wait(task, bpf_ktime_get_ns());
  task->span_depth = 0;
  task->op_depth = 0;
  task->owner.op_id = 0;
  task->owner.parent_op = 0;
}

static __noinline int iot_forget_ops(struct iot_task* task) {
  forget_ops(task);
  return 0;
}

/* Rare: global, so that it is checked once. */
__noinline int iot_forget_ops_of_current(void) {
  struct iot_task* own = iot_state_of(bpf_get_current_task_btf());
  if (own)
    forget_ops(own);
  return 0;
}

/* The depth in spans and operations, loaded as one word: 0 if in none. */
#define IOT_DEPTHS(task) (*(const volatile iot_u32*)&(task)->span_depth)
_Static_assert(__builtin_offsetof(struct iot_task, span_depth) % sizeof(iot_u32) == 0 &&
                   __builtin_offsetof(struct iot_task, op_depth) ==
                       __builtin_offsetof(struct iot_task, span_depth) + sizeof(iot_u16),
               "both depths are one word");

static __always_inline void iot_op_begin(struct iot_task* task) {
  if (IOT_DEPTHS(task))
    iot_forget_ops_of_current();
  task->owner.op_id = iot_new_op(task);
}

static __always_inline void iot_op_end(struct iot_task* task) {
  task->owner.op_id = 0;
}

/* The mask is for the verifier; the compiler would remove it as needless after a comparison. */
static __always_inline iot_u64* outer_op(struct iot_task* task, iot_u32 depth) {
  asm volatile("" : "+r"(depth));
  return &task->outer_ops[depth & (IOT_OP_DEPTH - 1)];
}

static __always_inline void iot_op_enter(struct iot_task* task) {
  const iot_u32 depth = task->op_depth++; /* counts also without room, so that ends still match */
  if (depth >= IOT_OP_DEPTH)
    return;
  *outer_op(task, depth) = task->owner.parent_op;
  task->owner.parent_op = task->owner.op_id;
  task->owner.op_id = iot_new_op(task);
}

static __always_inline void iot_op_leave(struct iot_task* task) {
  if (!task->op_depth) /* it began before the recording */
    return;
  const iot_u32 depth = --task->op_depth;
  if (depth >= IOT_OP_DEPTH)
    return;
  task->owner.op_id = task->owner.parent_op;
  task->owner.parent_op = *outer_op(task, depth);
}

static __always_inline struct iot_span* iot_span_begin(struct iot_task* task, iot_u32 kind,
                                                       iot_u64 object) {
  const iot_u32 depth = task->span_depth++; /* counts also without room, so that ends still match */
  if (depth >= IOT_SPAN_DEPTH) {
    iot_lose(IOT_COUNTER_kernel_span_lost);
    return 0;
  }
  struct iot_span* span = &task->spans[depth & (IOT_SPAN_DEPTH - 1)];
  span->op_id = task->owner.op_id;
  span->kind = kind;
  span->object = object;
  return span;
}

/* The innermost span; NULL: none, or it found no room. */
static __always_inline struct iot_span* iot_span_innermost(struct iot_task* task) {
  const iot_u32 depth = task->span_depth;
  if (depth == 0 || depth > IOT_SPAN_DEPTH)
    return 0;
  return &task->spans[(depth - 1) & (IOT_SPAN_DEPTH - 1)];
}

/*
 * NULL: it began before the recording, or found no room. An `object` of 0 is unknown and matches
 * any.
 */
static __always_inline struct iot_span* iot_span_end(struct iot_task* task, iot_u32 kind,
                                                     iot_u64 object) {
  struct iot_span* span = iot_span_innermost(task);
  if (!span) {
    if (task->span_depth)
      --task->span_depth;
    return 0;
  }
  if (span->kind != kind || span->op_id != task->owner.op_id || (object && span->object != object))
    return 0;
  --task->span_depth;
  return span;
}

#endif
