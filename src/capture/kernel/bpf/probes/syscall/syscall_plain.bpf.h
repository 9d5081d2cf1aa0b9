/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The most frequent calls (IOT_CALL_PLAIN), as short as possible: the meaning of a descriptor is
 * remembered.
 */
#ifndef IOTRAIL_SYSCALL_PLAIN_BPF_H
#define IOTRAIL_SYSCALL_PLAIN_BPF_H

#include "probes/syscall/syscall_data.bpf.h"
#include "track/call.bpf.h"
#include "track/file.bpf.h"

/* The file and the position of a plain call. */
struct plain_target {
  iot_u32 file;
  iot_s64 offset;
};

/* 0: the file of its descriptor cannot be found here. */
static __always_inline int find_plain_target(struct plain_target* target,
                                             const struct task_struct* current,
                                             struct iot_task* task, iot_s32 fd, iot_s64 result) {
  if (task->moved.op_id == task->owner.op_id) {
    target->file = task->moved.file;
    target->offset = task->moved.offset;
    return 1;
  }
  const struct iot_cached_fd* cached = &task->fds[(iot_u32)fd & (IOT_TASK_FDS - 1)];
  /* Loaded through the trusted task: one instruction, where a load that may fail takes eight. */
  struct file* file =
      iot_config.has_cast ? iot_file_in(current->files, fd) : iot_small_file_of_fd(fd);
  if (!file || (!means_the_same(cached, fd, file) && !iot_cache_fd(fd)))
    return 0;
  target->file = cached->file;
  target->offset = IOT_OFFSET_NONE;
  if (!(task->call & IOT_CALL_PLACED) && cached->flags)
    target->offset = position_before(file->f_pos, cached->flags, result);
  return 1;
}

static __noinline iot_s64 named_place(const struct iot_task* task, const struct pt_regs* regs,
                                      iot_s64 result) {
  return task && regs ? place_of_call(task, (iot_s32)regs->di, (iot_s64)regs->r10, result)
                      : IOT_OFFSET_NONE;
}

/* The record of a plain call; 0: it needs the general way. */
static __always_inline int emit_plain_call(const struct task_struct* current, struct iot_task* task,
                                           struct pt_regs* regs, iot_s64 result, iot_u64 now_ns) {
  const iot_u64 call = task->call;
  const iot_s32 fd = (iot_s32)regs->di;
  struct plain_target target;
  if (!find_plain_target(&target, current, task, fd, result))
    return 0;
  if (!iot_file_of_call_wanted(target.file))
    return 1;
  if (call & IOT_CALL_PLACED)
    target.offset =
        call & IOT_CALL_MAY_APPEND ? named_place(task, regs, result) : (iot_s64)regs->r10;
  if (may_leave_out(task, now_ns - task->entry_ns)) {
    iot_leave_out();
    return 1;
  }
  struct iot_place place;
  struct iot_syscall_read* record = iot_reserve_bits(&place, call & IOT_CALL_KIND_BITS);
  if (!record) {
    iot_lose_span(task->entry_ns);
    return 1;
  }
  record->duration_ns = now_ns - task->entry_ns;
  record->offset = target.offset;
  record->bytes_requested = regs->dx;
  record->result = visible_result(result);
  record->file = target.file;
  record->fd = fd;
  record->flags = 0;
  record->call = IOT_CALL_NUMBER(call);
  iot_commit(&place, &task->owner, task->entry_ns);
  return 1;
}

#endif
