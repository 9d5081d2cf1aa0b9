/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Spans that begin in one program and end in another, kept in the task. They nest: a write may ask for a fsync, a
 * stacked file system calls the one below. Ends come in the reverse order of the begins, always in the same operation.
 *
 *   struct io_span *span = io_span_begin(task, IO_KIND_x, object);
 *   if (span) ...                                  fill the rest, start_ns last
 *   ...
 *   struct io_span *span = io_span_end(task, IO_KIND_x, object);
 *   if (span) ...                                  valid until the task's next begin
 */
#ifndef IOTRAIL_SPAN_BPF_H
#define IOTRAIL_SPAN_BPF_H

#include "core.bpf.h"

/* Spans of an earlier operation, whose ends the kernel did not tell (it skips probes under recursion). */
static __noinline int io_span_forget(struct io_task* task) {
  for (io_u32 depth = 0; depth < IO_SPAN_DEPTH && depth < task->span_depth; ++depth)
    io_count(IO_COUNTER_kernel_span_lost);
  task->span_depth = 0;
  return 0;
}

static __always_inline struct io_span* io_span_begin(struct io_task* task, io_u32 kind,
                                                     io_u64 object) {
  if (task->span_depth && task->spans[0].op_id != task->op_id)
    io_span_forget(task);
  const io_u32 depth = task->span_depth++; /* beyond the room too, so that ends still pair up */
  if (depth >= IO_SPAN_DEPTH) {
    io_count(IO_COUNTER_kernel_span_lost);
    return 0;
  }
  struct io_span* span = &task->spans[depth & (IO_SPAN_DEPTH - 1)];
  span->op_id = task->op_id;
  span->kind = kind;
  span->object = object;
  return span;
}

/* The innermost span; NULL: there is none, or it found no room. */
static __always_inline struct io_span* io_span_innermost(struct io_task* task) {
  const io_u32 depth = task->span_depth;
  if (depth == 0 || depth > IO_SPAN_DEPTH)
    return 0;
  return &task->spans[(depth - 1) & (IO_SPAN_DEPTH - 1)];
}

/* NULL: it began before the recording, or found no room. An `object` of 0 is not known and fits any. */
static __always_inline struct io_span* io_span_end(struct io_task* task, io_u32 kind,
                                                   io_u64 object) {
  struct io_span* span = io_span_innermost(task);
  if (!span) {
    if (task->span_depth)
      --task->span_depth;
    return 0;
  }
  if (span->kind != kind || span->op_id != task->op_id || (object && span->object != object))
    return 0;
  --task->span_depth;
  return span;
}

#endif
