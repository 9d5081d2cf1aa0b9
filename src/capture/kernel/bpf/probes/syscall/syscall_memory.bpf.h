/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls on files in memory: mmap, munmap, mremap, msync. All but the first name an address. The
 * file mapped there is looked up at the entry, since the call may unmap it.
 */
#ifndef IOTRAIL_SYSCALL_MEMORY_BPF_H
#define IOTRAIL_SYSCALL_MEMORY_BPF_H

#include "probes/syscall/syscall.bpf.h"

static __always_inline int is_error(iot_s64 result) {
  return (iot_u64)result >= (iot_u64)-4095LL;
}

/* The result of a call that maps; 0: it failed. */
static __always_inline iot_u64 mapped_at(const struct returned* call) {
  if (is_error(call->result))
    return 0;
  return call->is_compat ? (iot_u32)call->result : (iot_u64)call->result;
}

static __always_inline void emit_mmap(struct returned* call) {
  const iot_u32 flags = (iot_u32)call->arguments[3];
  const int has_file = !(flags & IOT_map_MAP_ANONYMOUS);
  const iot_s32 fd = has_file ? (iot_s32)call->arguments[4] : IOT_NO_FD;
  const iot_u32 file = has_file ? iot_file_of_fd(fd) : 0;
  if (!iot_file_of_call_wanted(file))
    return;
  const iot_u64 offset = call->arguments[5];
  struct iot_place place;
  struct iot_syscall_mmap* record = RESERVE_CALL(syscall_mmap, &place, call);
  if (!record) {
    lose_call(call);
    return;
  }
  record->address = mapped_at(call);
  record->offset = !has_file ? IOT_OFFSET_NONE
                             : (iot_s64)(call->is_compat ? (iot_u64)(iot_u32)offset << 12 : offset);
  record->bytes = call->arguments[1];
  call->result = is_error(call->result) ? call->result : 0;
  record->file = file;
  record->fd = fd;
  record->prot = (iot_u32)call->arguments[2];
  record->flags = flags;
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_munmap(struct returned* call) {
  if (!iot_file_of_call_wanted(call->task->entry_file))
    return;
  struct iot_place place;
  struct iot_syscall_munmap* record = RESERVE_CALL(syscall_munmap, &place, call);
  if (!record)
    return;
  record->address = call->arguments[0];
  record->offset = call->task->entry_offset;
  record->file = call->task->entry_file;
  record->bytes = call->arguments[1];
  COMMIT_CALL(record, &place, call);
}

/* mremap(address, bytes, new bytes, flags, new address) */
static __always_inline void emit_mremap(struct returned* call) {
  if (!iot_file_of_call_wanted(call->task->entry_file))
    return;
  struct iot_place place;
  struct iot_syscall_mremap* record = RESERVE_CALL(syscall_mremap, &place, call);
  if (!record)
    return;
  record->address = call->arguments[0];
  record->offset = call->task->entry_offset;
  record->file = call->task->entry_file;
  record->new_address = mapped_at(call);
  record->bytes = call->arguments[1];
  record->new_bytes = call->arguments[2];
  record->flags = (iot_u32)call->arguments[3];
  call->result = is_error(call->result) ? call->result : 0;
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_msync(struct returned* call) {
  if (!iot_file_of_call_wanted(call->task->entry_file))
    return;
  struct iot_place place;
  struct iot_syscall_msync* record = RESERVE_CALL(syscall_msync, &place, call);
  if (!record)
    return;
  record->address = call->arguments[0];
  record->offset = call->task->entry_offset;
  record->file = call->task->entry_file;
  record->bytes = call->arguments[1];
  record->flags = (iot_u32)call->arguments[2];
  COMMIT_CALL(record, &place, call);
}

#endif
