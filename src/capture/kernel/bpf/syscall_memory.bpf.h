/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls on files in memory: mmap, munmap, msync. The last two know only an address, no file.
 */
#ifndef IOTRAIL_SYSCALL_MEMORY_BPF_H
#define IOTRAIL_SYSCALL_MEMORY_BPF_H

#include "syscall.bpf.h"

#define MAP_ANONYMOUS 0x20

static __always_inline int is_error(io_s64 result) {
  return (io_u64)result >= (io_u64)-4095LL;
}

static __always_inline void mapped(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const io_u32 flags = (io_u32)IO_ARGUMENT_3(regs, compat);
  const int has_file = !(flags & MAP_ANONYMOUS);
  const io_s32 fd = has_file ? (io_s32)IO_ARGUMENT_4(regs, compat) : IO_NO_FD;
  const io_u32 file = has_file ? file_of_fd(call->task, fd) : 0;
  if (!io_file_wanted(file))
    return;
  const io_u64 offset = IO_ARGUMENT_5(regs, compat);
  struct io_slot slot;
  struct io_syscall_mmap* record = IO_RESERVE(syscall_mmap, &slot);
  if (!record)
    return;
  const int has_failed = is_error(call->result);
  record->address = has_failed ? 0 : (io_u64)call->result;
  record->offset =
      !has_file ? IO_OFFSET_NONE : (io_s64)(compat ? (io_u64)(io_u32)offset << 12 : offset);
  record->bytes = IO_ARGUMENT_1(regs, compat);
  call->result = has_failed ? call->result : 0;
  record->file = file;
  record->fd = fd;
  record->prot = (io_u32)IO_ARGUMENT_2(regs, compat);
  record->flags = flags;
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void unmapped(struct returned* call, int compat) {
  if (!io_file_wanted(0))
    return;
  struct io_slot slot;
  struct io_syscall_munmap* record = IO_RESERVE(syscall_munmap, &slot);
  if (!record)
    return;
  record->address = IO_ARGUMENT_0(call->regs, compat);
  record->bytes = IO_ARGUMENT_1(call->regs, compat);
  COMMIT_CALL(record, &slot, call);
}

static __always_inline void memory_synced(struct returned* call, int compat) {
  if (!io_file_wanted(0))
    return;
  struct io_slot slot;
  struct io_syscall_msync* record = IO_RESERVE(syscall_msync, &slot);
  if (!record)
    return;
  record->address = IO_ARGUMENT_0(call->regs, compat);
  record->bytes = IO_ARGUMENT_1(call->regs, compat);
  record->flags = (io_u32)IO_ARGUMENT_2(call->regs, compat);
  COMMIT_CALL(record, &slot, call);
}

#endif
