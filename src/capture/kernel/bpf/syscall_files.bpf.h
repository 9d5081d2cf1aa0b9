/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls on files as a whole, by path or descriptor: open, close, truncate, unlink, rename, mkdir, stat.
 */
#ifndef IOTRAIL_SYSCALL_FILES_BPF_H
#define IOTRAIL_SYSCALL_FILES_BPF_H

#include "syscall.bpf.h"

#define O_CREAT 0100
#define O_TMPFILE_BIT 020000000
#define CREAT_FLAGS 01101 /* O_CREAT | O_WRONLY | O_TRUNC */
#define AT_EMPTY_PATH 0x1000

static __always_inline void opened(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const io_u32 number = call->number;
  io_s32 fd = AT_FDCWD;
  io_u64 path = IO_ARGUMENT_0(regs, compat);
  io_u64 flags = IO_ARGUMENT_1(regs, compat);
  io_u64 mode = IO_ARGUMENT_2(regs, compat);
  if (number == IO_syscall_creat) {
    mode = flags;
    flags = CREAT_FLAGS;
  } else if (number == IO_syscall_openat || number == IO_syscall_openat2) {
    fd = (io_s32)path;
    path = flags;
    flags = mode;
    mode = IO_ARGUMENT_3(regs, compat);
  }
  if (number == IO_syscall_openat2) {
    io_u64 how[2] = {};
    bpf_probe_read_user(how, sizeof(how), (const void*)flags);
    flags = how[0];
    mode = how[1];
  }
  const io_u32 file = call->result >= 0 ? file_of_fd(call->task, (io_s32)call->result) : 0;
  if (!io_file_wanted(file))
    return;
  const io_u32 text = io_text_of_user(path);
  struct io_slot slot;
  struct io_syscall_open* record = IO_RESERVE(syscall_open, &slot);
  if (!record)
    return;
  record->file = file;
  record->path = text;
  record->fd = fd;
  record->flags = (io_u32)flags;
  record->mode = flags & (O_CREAT | O_TMPFILE_BIT) ? (io_u32)mode : 0;
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void closed(struct returned* call, int compat) {
  const io_u32 file = call->task->entry_file;
  if (!io_file_wanted(file))
    return;
  struct io_slot slot;
  struct io_syscall_close* record = IO_RESERVE(syscall_close, &slot);
  if (!record)
    return;
  record->file = file;
  record->fd = (io_s32)IO_ARGUMENT_0(call->regs, compat);
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void truncated(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int has_path = call->number == IO_syscall_truncate;
  const io_s32 fd = has_path ? IO_NO_FD : (io_s32)IO_ARGUMENT_0(regs, compat);
  const io_u32 file = has_path ? 0 : file_of_fd(call->task, fd);
  if (!io_file_wanted(file))
    return;
  const io_u32 text = has_path ? io_text_of_user(IO_ARGUMENT_0(regs, compat)) : 0;
  struct io_slot slot;
  struct io_syscall_truncate* record = IO_RESERVE(syscall_truncate, &slot);
  if (!record)
    return;
  if (call->number == IO_syscall_fallocate) {
    const io_u64 third = IO_ARGUMENT_3(regs, compat);
    record->offset = WIDE(IO_ARGUMENT_2(regs, compat), third, compat);
    record->bytes =
        (io_u64)(compat ? WIDE(IO_ARGUMENT_4(regs, compat), IO_ARGUMENT_5(regs, compat), 1)
                        : (io_s64)third);
  } else {
    record->offset = IO_OFFSET_NONE;
    record->bytes = (io_u64)WIDE(IO_ARGUMENT_1(regs, compat), IO_ARGUMENT_2(regs, compat), compat);
  }
  record->file = file;
  record->path = text;
  record->fd = fd;
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void unlinked(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int is_at = call->number == IO_syscall_unlinkat;
  const io_u64 path = is_at ? IO_ARGUMENT_1(regs, compat) : IO_ARGUMENT_0(regs, compat);
  if (!io_file_wanted(0))
    return;
  const io_u32 text = io_text_of_user(path);
  struct io_slot slot;
  struct io_syscall_unlink* record = IO_RESERVE(syscall_unlink, &slot);
  if (!record)
    return;
  record->path = text;
  record->fd = is_at ? (io_s32)IO_ARGUMENT_0(regs, compat) : AT_FDCWD;
  record->flags = is_at ? (io_u32)IO_ARGUMENT_2(regs, compat) : 0;
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void renamed(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int is_at = call->number != IO_syscall_rename;
  const io_u64 old_path = is_at ? IO_ARGUMENT_1(regs, compat) : IO_ARGUMENT_0(regs, compat);
  const io_u64 new_path = is_at ? IO_ARGUMENT_3(regs, compat) : IO_ARGUMENT_1(regs, compat);
  if (!io_file_wanted(0))
    return;
  const io_u32 old_text = io_text_of_user(old_path);
  const io_u32 new_text = io_text_of_user(new_path);
  struct io_slot slot;
  struct io_syscall_rename* record = IO_RESERVE(syscall_rename, &slot);
  if (!record)
    return;
  record->path = old_text;
  record->new_path = new_text;
  record->fd = is_at ? (io_s32)IO_ARGUMENT_0(regs, compat) : AT_FDCWD;
  record->new_fd = is_at ? (io_s32)IO_ARGUMENT_2(regs, compat) : AT_FDCWD;
  record->flags = call->number == IO_syscall_renameat2 ? (io_u32)IO_ARGUMENT_4(regs, compat) : 0;
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void made_directory(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int is_at = call->number == IO_syscall_mkdirat;
  const io_u64 path = is_at ? IO_ARGUMENT_1(regs, compat) : IO_ARGUMENT_0(regs, compat);
  if (!io_file_wanted(0))
    return;
  const io_u32 text = io_text_of_user(path);
  struct io_slot slot;
  struct io_syscall_mkdir* record = IO_RESERVE(syscall_mkdir, &slot);
  if (!record)
    return;
  record->path = text;
  record->fd = is_at ? (io_s32)IO_ARGUMENT_0(regs, compat) : AT_FDCWD;
  record->mode = (io_u32)(is_at ? IO_ARGUMENT_2(regs, compat) : IO_ARGUMENT_1(regs, compat));
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void looked_up(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const io_u32 number = call->number;
  const int is_at = number == IO_syscall_newfstatat || number == IO_syscall_statx;
  io_s32 fd = is_at || number == IO_syscall_fstat ? (io_s32)IO_ARGUMENT_0(regs, compat) : AT_FDCWD;
  io_u64 path = is_at ? IO_ARGUMENT_1(regs, compat) : IO_ARGUMENT_0(regs, compat);
  io_u32 flags = 0;
  if (number == IO_syscall_newfstatat)
    flags = (io_u32)IO_ARGUMENT_3(regs, compat);
  else if (number == IO_syscall_statx)
    flags = (io_u32)IO_ARGUMENT_2(regs, compat);
  else if (number == IO_syscall_fstat)
    path = 0;
  const io_u32 text = path ? io_text_of_user(path) : 0;
  const int names_fd = number == IO_syscall_fstat || (!text && flags & AT_EMPTY_PATH);
  const io_u32 file = names_fd ? file_of_fd(call->task, fd) : 0;
  if (!io_file_wanted(file))
    return;
  struct io_slot slot;
  struct io_syscall_stat* record = IO_RESERVE(syscall_stat, &slot);
  if (!record)
    return;
  record->file = file;
  record->path = text;
  record->fd = fd;
  record->flags = flags;
  COMMIT_CALL(record, &slot, call);
}

#endif
