/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls that move data through descriptors, position them or make data durable: read, write, seek, sync, copy; and
 * those that submit or await such work: aio, io_uring.
 */
#ifndef IOTRAIL_SYSCALL_DATA_BPF_H
#define IOTRAIL_SYSCALL_DATA_BPF_H

#include "syscall.bpf.h"

#define MODE_TYPE 0170000
#define MODE_REGULAR 0100000
#define MODE_BLOCK 0060000

/* Sum of the lengths of an iovec array. A function of its own: checked once, with any arguments. */
__noinline io_u64 io_vector_bytes(io_u64 vector, io_u32 count, io_u32 is_compat) {
  io_u64 sum = 0;
  for (io_u32 index = 0; index < IO_VECTOR_LIMIT && index < count; ++index) {
    if (is_compat) {
      io_u32 length = 0;
      bpf_probe_read_user(&length, sizeof(length), (const void*)(vector + index * 8 + 4));
      sum += length;
    } else {
      io_u64 length = 0;
      bpf_probe_read_user(&length, sizeof(length), (const void*)(vector + index * 16 + 8));
      sum += length;
    }
  }
  return sum;
}

struct target {
  io_u32 file;
  io_s64 offset; /* of the descriptor, -1: it has none */
};

/*
 * The file of a call that moves `moved` bytes, and the position at which it began: the descriptor's position now, less
 * what was moved. The position at entry would be wrong wherever threads wait for each other or O_APPEND is set.
 */
static __always_inline struct target describe(struct io_task* task, struct file* file, io_s64 moved,
                                              int cast) {
  struct target target = {.offset = IO_OFFSET_NONE};
  struct inode* inode = 0;
  io_u32 f_mode = 0;
  io_u16 i_mode = 0;
  IO_LOAD(f_mode, file, f_mode, cast);
  IO_LOAD(inode, file, f_inode, cast);
  if (f_mode & FMODE_LSEEK) {
    IO_LOAD(target.offset, file, f_pos, cast);
    IO_LOAD(i_mode, inode, i_mode, cast);
    const io_u32 type = i_mode & MODE_TYPE;
    const int advances = type == MODE_REGULAR || type == MODE_BLOCK; /* /dev/zero does not */
    if (advances && moved > 0 && target.offset >= moved)
      target.offset -= moved;
  }
  target.file = io_identify(task, inode, file, cast);
  return target;
}

static __always_inline struct target target_of(struct io_task* task, io_s32 fd, io_s64 moved) {
  const struct target none = {.offset = IO_OFFSET_NONE};
  const struct target seen = {.file = task->vfs_file, .offset = task->vfs_offset};
  if (task->vfs_op == task->op_id)
    return seen;
  if (!io_config.has_cast) {
    struct file* small = io_small_file_of_fd(fd);
    if (small)
      return describe(task, small, moved, 1);
  }
  const io_u64 number = io_file_of_fd(fd);
  if (!number)
    return none;
  if (!io_config.has_cast)
    return describe(task, (struct file*)number, moved, 0);
  struct file* file = IO_TYPED(file, number, 1);
  return describe(task, file, moved, 1);
}

/* Reads and writes have records of one shape; the kinds differ. */
_Static_assert(sizeof(struct io_syscall_read) == sizeof(struct io_syscall_write), "one shape");

static __always_inline void transfer(struct returned* call, io_u32 kind, int compat) {
  struct pt_regs* regs = call->regs;
  const io_s32 fd = (io_s32)IO_ARGUMENT_0(regs, compat);
  io_u64 bytes = IO_ARGUMENT_2(regs, compat);
  io_s64 given = IO_OFFSET_NONE;
  io_u32 flags = 0;
  switch (call->number) {
  case IO_syscall_read:
  case IO_syscall_write:
    break;
  case IO_syscall_pread64:
  case IO_syscall_pwrite64:
    given = WIDE(IO_ARGUMENT_3(regs, compat), IO_ARGUMENT_4(regs, compat), compat);
    break;
  case IO_syscall_preadv2:
  case IO_syscall_pwritev2:
    flags = (io_u32)IO_ARGUMENT_5(regs, compat);
    given = WIDE(IO_ARGUMENT_3(regs, compat), IO_ARGUMENT_4(regs, compat), compat);
    break;
  case IO_syscall_preadv:
  case IO_syscall_pwritev:
    given = WIDE(IO_ARGUMENT_3(regs, compat), IO_ARGUMENT_4(regs, compat), compat);
    break;
  }
  if (call->number != IO_syscall_read && call->number != IO_syscall_write &&
      call->number != IO_syscall_pread64 && call->number != IO_syscall_pwrite64)
    bytes = io_vector_bytes(IO_ARGUMENT_1(regs, compat), (io_u32)bytes, (io_u32)compat);
  const struct target target = target_of(call->task, fd, call->result);
  if (!io_file_wanted(target.file))
    return;
  struct io_slot slot;
  struct io_syscall_read* record = io_reserve(&slot, kind);
  if (!record)
    return;
  record->offset = given != IO_OFFSET_NONE ? given : target.offset;
  record->bytes_requested = bytes;
  record->file = target.file;
  record->fd = fd;
  record->flags = flags;
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void sought(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const io_s32 fd = (io_s32)IO_ARGUMENT_0(regs, compat);
  const io_u32 file = file_of_fd(call->task, fd);
  if (!io_file_wanted(file))
    return;
  struct io_slot slot;
  struct io_syscall_seek* record = IO_RESERVE(syscall_seek, &slot);
  if (!record)
    return;
  record->offset =
      compat ? (io_s64)(io_s32)IO_ARGUMENT_1(regs, compat) : (io_s64)IO_ARGUMENT_1(regs, compat);
  record->file = file;
  record->fd = fd;
  record->whence = (io_u32)IO_ARGUMENT_2(regs, compat);
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void synced(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int has_fd = call->number != IO_syscall_sync;
  const io_s32 fd = has_fd ? (io_s32)IO_ARGUMENT_0(regs, compat) : IO_NO_FD;
  const io_u32 file = has_fd ? file_of_fd(call->task, fd) : 0;
  if (!io_file_wanted(file))
    return;
  struct io_slot slot;
  struct io_syscall_sync* record = IO_RESERVE(syscall_sync, &slot);
  if (!record)
    return;
  record->offset = IO_OFFSET_NONE;
  record->bytes = 0;
  record->file = file;
  record->fd = fd;
  record->flags = 0;
  if (call->number == IO_syscall_sync_file_range) {
    const io_u64 second = IO_ARGUMENT_2(regs, compat);
    const io_u64 third = IO_ARGUMENT_3(regs, compat);
    record->offset = WIDE(IO_ARGUMENT_1(regs, compat), second, compat);
    record->bytes = (io_u64)(compat ? WIDE(third, IO_ARGUMENT_4(regs, compat), 1) : (io_s64)second);
    record->flags = (io_u32)(compat ? IO_ARGUMENT_5(regs, compat) : third);
  }
  COMMIT_CALL(record, &slot, call);
}

/* sendfile(out, in, offset, count); copy_file_range and splice(in, offset, out, offset, count, flags) */
static __always_inline void copied(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int is_sendfile = call->number == IO_syscall_sendfile;
  const io_s32 first = (io_s32)IO_ARGUMENT_0(regs, compat);
  const io_s32 in_fd = is_sendfile ? (io_s32)IO_ARGUMENT_1(regs, compat) : first;
  const io_s32 out_fd = is_sendfile ? first : (io_s32)IO_ARGUMENT_2(regs, compat);
  const io_u32 in_file = file_of_fd(call->task, in_fd);
  const io_u32 out_file = file_of_fd(call->task, out_fd);
  if (!io_file_wanted(in_file) && !io_file_wanted(out_file))
    return;
  struct io_slot slot;
  struct io_syscall_copy* record = IO_RESERVE(syscall_copy, &slot);
  if (!record)
    return;
  record->bytes_requested = is_sendfile ? IO_ARGUMENT_3(regs, compat) : IO_ARGUMENT_4(regs, compat);
  record->in_file = in_file;
  record->out_file = out_file;
  record->in_fd = in_fd;
  record->out_fd = out_fd;
  record->flags = call->number == IO_syscall_splice ? (io_u32)IO_ARGUMENT_5(regs, compat) : 0;
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void aio_submitted(struct returned* call, int compat) {
  if (!io_file_wanted(0))
    return;
  struct io_slot slot;
  struct io_syscall_aio_submit* record = IO_RESERVE(syscall_aio_submit, &slot);
  if (!record)
    return;
  record->context = IO_ARGUMENT_0(call->regs, compat);
  record->requested = (io_s64)IO_ARGUMENT_1(call->regs, compat);
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void aio_reaped(struct returned* call, int compat) {
  if (!io_file_wanted(0))
    return;
  struct io_slot slot;
  struct io_syscall_aio_getevents* record = IO_RESERVE(syscall_aio_getevents, &slot);
  if (!record)
    return;
  record->context = IO_ARGUMENT_0(call->regs, compat);
  record->minimum = (io_s64)IO_ARGUMENT_1(call->regs, compat);
  record->maximum = (io_s64)IO_ARGUMENT_2(call->regs, compat);
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void uring_entered(struct returned* call, int compat) {
  if (!io_file_wanted(0))
    return;
  struct io_slot slot;
  struct io_syscall_uring_enter* record = IO_RESERVE(syscall_uring_enter, &slot);
  if (!record)
    return;
  record->to_submit = (io_u32)IO_ARGUMENT_1(call->regs, compat);
  record->min_complete = (io_u32)IO_ARGUMENT_2(call->regs, compat);
  record->fd = (io_s32)IO_ARGUMENT_0(call->regs, compat);
  record->flags = (io_u32)IO_ARGUMENT_3(call->regs, compat);
  COMMIT_CALL(record, &slot, call);
}

#endif
