/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls that control a descriptor or memory: fcntl, flock, ioctl, advise, dup.
 */
#ifndef IOTRAIL_SYSCALL_CONTROL_BPF_H
#define IOTRAIL_SYSCALL_CONTROL_BPF_H

#include "probes/syscall/syscall.bpf.h"

/* struct flock of 64-bit programs. */
struct program_lock {
  iot_u16 type;
  iot_u16 whence;
  iot_u32 padding;
  iot_s64 start;
  iot_s64 length;
};

/* The end of a range may be given in place of its length. */
static __always_inline void begin_at_first_byte(struct program_lock* lock) {
  if (lock->length >= 0)
    return;
  lock->start += lock->length;
  lock->length = -lock->length;
}

static __always_inline int is_lock(iot_u32 command) {
  return command == IOT_fcntl_F_GETLK || command == IOT_fcntl_F_SETLK ||
         command == IOT_fcntl_F_SETLKW || command == IOT_fcntl_F_OFD_GETLK ||
         command == IOT_fcntl_F_OFD_SETLK || command == IOT_fcntl_F_OFD_SETLKW;
}

/*
 * fcntl(fd, command, argument). The locks of 32-bit programs have another layout: recorded without
 * their range.
 */
static __always_inline void emit_fcntl(struct returned* call) {
  const iot_u32 command = (iot_u32)call->arguments[1];
  const struct object object = object_of(call);
  if (!iot_file_of_call_wanted(object.file))
    return;
  struct program_lock lock = {.start = IOT_OFFSET_NONE};
  const int has_lock =
      !call->is_compat && is_lock(command) &&
      bpf_probe_read_user(&lock, sizeof(lock), (const void*)call->arguments[2]) == 0;
  begin_at_first_byte(&lock);
  struct iot_place place;
  struct iot_syscall_fcntl* record = RESERVE_CALL(syscall_fcntl, &place, call);
  if (!record)
    return;
  record->argument = call->arguments[2];
  record->offset = has_lock ? lock.start : IOT_OFFSET_NONE;
  record->bytes = has_lock ? (iot_u64)lock.length : 0;
  record->file = object.file;
  record->fd = object.fd;
  record->command = command;
  record->lock = has_lock ? (iot_u32)lock.type + 1 : 0;
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_flock(struct returned* call) {
  const struct object object = object_of(call);
  if (!iot_file_of_call_wanted(object.file))
    return;
  struct iot_place place;
  struct iot_syscall_flock* record = RESERVE_CALL(syscall_flock, &place, call);
  if (!record)
    return;
  record->file = object.file;
  record->fd = object.fd;
  record->flags = (iot_u32)call->arguments[1];
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_ioctl(struct returned* call) {
  const struct object object = object_of(call);
  if (!iot_file_of_call_wanted(object.file))
    return;
  struct iot_place place;
  struct iot_syscall_ioctl* record = RESERVE_CALL(syscall_ioctl, &place, call);
  if (!record)
    return;
  record->argument = call->arguments[2];
  record->file = object.file;
  record->fd = object.fd;
  record->request = (iot_u32)call->arguments[1];
  COMMIT_CALL(record, &place, call);
}

/* fadvise64(fd, offset, length, advice), readahead(fd, offset, count), madvise(address, length, advice) */
static __always_inline void emit_advise(struct returned* call) {
  const int is_memory = call->number == IOT_syscall_madvise;
  const int is_readahead = call->number == IOT_syscall_readahead;
  const struct object object = object_of(call);
  const iot_u32 file = is_memory ? call->task->entry_file : object.file;
  if (!iot_file_of_call_wanted(file))
    return;
  const iot_u64* from = call->arguments;
  struct iot_place place;
  struct iot_syscall_advise* record = RESERVE_CALL(syscall_advise, &place, call);
  if (!record)
    return;
  record->address = is_memory ? from[0] : 0;
  record->offset = is_memory ? call->task->entry_offset : WIDE(from[1], from[2], call->is_compat);
  if (is_memory)
    record->bytes = from[1];
  else if (is_readahead)
    record->bytes = call->is_compat ? from[3] : from[2];
  else
    record->bytes = (iot_u64)(call->is_compat ? WIDE(from[3], from[4], 1) : (iot_s64)from[2]);
  record->file = file;
  record->fd = object.fd;
  if (is_memory)
    record->advice = (iot_u32)from[2];
  else if (is_readahead)
    record->advice = IOT_advice_WILLNEED;
  else
    record->advice = (iot_u32)(call->is_compat ? from[5] : from[3]);
  COMMIT_CALL(record, &place, call);
}

/* dup(fd), dup2(fd, new), dup3(fd, new, flags) */
static __always_inline void emit_dup(struct returned* call) {
  const struct object object = object_of(call);
  if (!iot_file_of_call_wanted(object.file))
    return;
  struct iot_place place;
  struct iot_syscall_dup* record = RESERVE_CALL(syscall_dup, &place, call);
  if (!record)
    return;
  record->file = object.file;
  record->fd = object.fd;
  record->flags = call->number == IOT_syscall_dup3 ? (iot_u32)call->arguments[2] : 0;
  COMMIT_CALL(record, &place, call);
}

#endif
