/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Writes that go to the end of their file, whatever position they name: O_APPEND, RWF_APPEND. The
 * position of the end is known only when they are done.
 */
#ifndef IOTRAIL_APPEND_BPF_H
#define IOTRAIL_APPEND_BPF_H

#include "track/call.bpf.h"
#include "track/file.bpf.h"

static __always_inline int is_appending(iot_u32 file_flags, iot_u32 rwf_flags) {
  return rwf_flags & IOT_rwf_RWF_APPEND ||
         (file_flags & IOT_open_O_APPEND && !(rwf_flags & IOT_rwf_RWF_NOAPPEND));
}

/* 0: the descriptor is not open. */
static __always_inline iot_u32 file_flags_of_fd(iot_s32 fd) {
  const int cast = iot_config.has_cast;
  const iot_u64 number = iot_file_pointer_of_fd(fd);
  const struct file* file = IOT_TYPED(file, number, cast);
  iot_u32 flags = 0;
  if (number)
    IOT_LOAD(flags, file, f_flags, cast);
  return flags;
}

static __always_inline iot_s64 size_of_fd(iot_s32 fd) {
  const struct file* file = (const struct file*)iot_file_pointer_of_fd(fd);
  return file ? BPF_CORE_READ(file, f_inode, i_size) : IOT_OFFSET_NONE;
}

/* At the entry of a call that may append (IOT_CALL_MAY_APPEND). */
static __always_inline void begin_append(struct iot_task* task, const struct pt_regs* regs,
                                         iot_u64 call) {
  const iot_s32 fd = fd_of_call(regs, call);
  iot_u32 rwf_flags = 0;
  if (IOT_CALL_NUMBER(call) == IOT_syscall_pwritev2)
    rwf_flags =
        (iot_u32)(call & IOT_CALL_COMPAT ? argument_of(regs, 5, 1) : argument_of(regs, 5, 0));
  task->append_at =
      is_appending(file_flags_of_fd(fd), rwf_flags) ? size_of_fd(fd) : IOT_OFFSET_NONE;
}

/*
 * The position at which a call that named the position `given` began to write. If it appends, the
 * layer vfs saw the position after the write. Otherwise the file must have grown by exactly the
 * bytes of the call, or the position is unknown.
 */
static __always_inline iot_s64 place_of_call(const struct iot_task* task, iot_s32 fd, iot_s64 given,
                                             iot_s64 written) {
  if (!(task->call & IOT_CALL_MAY_APPEND) || task->append_at == IOT_OFFSET_NONE)
    return given;
  if (written <= 0)
    return IOT_OFFSET_NONE;
  if (task->moved.op_id == task->owner.op_id)
    return task->moved.offset;
  return size_of_fd(fd) - written == task->append_at ? task->append_at : IOT_OFFSET_NONE;
}

#endif
