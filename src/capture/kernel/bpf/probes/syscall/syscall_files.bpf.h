/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls on files as a whole, by path or descriptor: open, close, truncate, unlink, rename, mkdir, stat.
 */
#ifndef IOTRAIL_SYSCALL_FILES_BPF_H
#define IOTRAIL_SYSCALL_FILES_BPF_H

#include "probes/syscall/syscall.bpf.h"

#define CREAT_FLAGS (IOT_open_O_CREAT | IOT_open_O_WRONLY | IOT_open_O_TRUNC)

static __always_inline void emit_open(struct returned* call) {
  const iot_u32 number = call->number;
  iot_s32 fd = IOT_AT_FDCWD;
  iot_u64 path = call->arguments[0];
  iot_u64 flags = call->arguments[1];
  iot_u64 mode = call->arguments[2];
  if (number == IOT_syscall_creat) {
    mode = flags;
    flags = CREAT_FLAGS;
  } else if (number == IOT_syscall_openat || number == IOT_syscall_openat2) {
    fd = (iot_s32)path;
    path = flags;
    flags = mode;
    mode = call->arguments[3];
  } else if (number == IOT_syscall_open_by_handle_at) {
    fd = (iot_s32)path;
    path = 0;
    flags = mode;
    mode = 0;
  }
  if (number == IOT_syscall_openat2) {
    iot_u64 how[2] = {};
    bpf_probe_read_user(how, sizeof(how), (const void*)flags);
    flags = how[0];
    mode = how[1];
  }
  iot_u32 file = call->result >= 0 ? iot_file_of_fd((iot_s32)call->result) : 0;
  iot_u32 text = 0;
  if (iot_config.named_paths && call->result < 0)
    text = iot_named_path(fd, path);
  else if (iot_config.named_paths && file & IOT_FILE_UNWANTED)
    file = iot_file_by_new_name((iot_s32)call->result);
  if (!text && !iot_file_of_call_wanted(file))
    return;
  if (!text && path)
    text = iot_string_of_user(path);
  struct iot_place place;
  struct iot_syscall_open* record = RESERVE_CALL(syscall_open, &place, call);
  if (!record) {
    lose_call(call);
    return;
  }
  record->file = file;
  record->path = text;
  record->fd = fd;
  record->flags = (iot_u32)flags;
  record->mode = flags & (IOT_open_O_CREAT | IOT_open_O_TMPFILE_BIT) ? (iot_u32)mode : 0;
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_close(struct returned* call) {
  const iot_u32 file = call->task->entry_file;
  if (!iot_file_of_call_wanted(file))
    return;
  struct iot_place place;
  struct iot_syscall_close* record = RESERVE_CALL(syscall_close, &place, call);
  if (!record)
    return;
  record->file = file;
  record->fd = (iot_s32)call->arguments[0];
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_truncate(struct returned* call) {
  const int has_path = call->number == IOT_syscall_truncate;
  const iot_s32 fd = has_path ? IOT_NO_FD : (iot_s32)call->arguments[0];
  const iot_u32 file = has_path ? 0 : iot_file_of_fd(fd);
  iot_u32 text = 0;
  if (has_path ? !iot_describe_path(IOT_AT_FDCWD, call->arguments[0], &text)
               : !iot_file_of_call_wanted(file))
    return;
  struct iot_place place;
  struct iot_syscall_truncate* record = RESERVE_CALL(syscall_truncate, &place, call);
  if (!record) {
    lose_call(call);
    return;
  }
  if (call->number == IOT_syscall_fallocate) {
    const iot_u64 third = call->arguments[3];
    record->offset = WIDE(call->arguments[2], third, call->is_compat);
    record->bytes = (iot_u64)(call->is_compat ? WIDE(call->arguments[4], call->arguments[5], 1)
                                              : (iot_s64)third);
    record->mode = (iot_u32)call->arguments[1];
  } else {
    record->mode = 0;
    record->offset = IOT_OFFSET_NONE;
    record->bytes = (iot_u64)WIDE(call->arguments[1], call->arguments[2], call->is_compat);
  }
  record->file = file;
  record->path = text;
  record->fd = fd;
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_unlink(struct returned* call) {
  const int is_at = call->number == IOT_syscall_unlinkat;
  const iot_u64 path = is_at ? call->arguments[1] : call->arguments[0];
  const iot_s32 fd = is_at ? (iot_s32)call->arguments[0] : IOT_AT_FDCWD;
  iot_u32 text = 0;
  if (!iot_describe_path(fd, path, &text))
    return;
  struct iot_place place;
  struct iot_syscall_unlink* record = RESERVE_CALL(syscall_unlink, &place, call);
  if (!record)
    return;
  record->path = text;
  record->fd = fd;
  record->flags = is_at ? (iot_u32)call->arguments[2] : 0;
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_rename(struct returned* call) {
  const int is_at = call->number != IOT_syscall_rename;
  const iot_u64 old_path = is_at ? call->arguments[1] : call->arguments[0];
  const iot_u64 new_path = is_at ? call->arguments[3] : call->arguments[1];
  const iot_s32 old_fd = is_at ? (iot_s32)call->arguments[0] : IOT_AT_FDCWD;
  const iot_s32 new_fd = is_at ? (iot_s32)call->arguments[2] : IOT_AT_FDCWD;
  iot_u32 old_text = 0;
  iot_u32 new_text = 0;
  if (!describe_paths(old_fd, old_path, &old_text, new_fd, new_path, &new_text))
    return;
  struct iot_place place;
  struct iot_syscall_rename* record = RESERVE_CALL(syscall_rename, &place, call);
  if (!record)
    return;
  record->path = old_text;
  record->new_path = new_text;
  record->fd = old_fd;
  record->new_fd = new_fd;
  record->flags = call->number == IOT_syscall_renameat2 ? (iot_u32)call->arguments[4] : 0;
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_mkdir(struct returned* call) {
  const int is_at = call->number == IOT_syscall_mkdirat || call->number == IOT_syscall_mknodat;
  const iot_u64 path = is_at ? call->arguments[1] : call->arguments[0];
  const iot_s32 fd = is_at ? (iot_s32)call->arguments[0] : IOT_AT_FDCWD;
  iot_u32 text = 0;
  if (!iot_describe_path(fd, path, &text))
    return;
  struct iot_place place;
  struct iot_syscall_mkdir* record = RESERVE_CALL(syscall_mkdir, &place, call);
  if (!record)
    return;
  record->path = text;
  record->fd = fd;
  record->mode = (iot_u32)(is_at ? call->arguments[2] : call->arguments[1]);
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_stat(struct returned* call) {
  const iot_u32 number = call->number;
  const int is_at = number == IOT_syscall_newfstatat || number == IOT_syscall_statx;
  iot_s32 fd = is_at || number == IOT_syscall_fstat ? (iot_s32)call->arguments[0] : IOT_AT_FDCWD;
  iot_u64 path = is_at ? call->arguments[1] : call->arguments[0];
  iot_u32 flags = 0;
  if (number == IOT_syscall_newfstatat)
    flags = (iot_u32)call->arguments[3];
  else if (number == IOT_syscall_statx)
    flags = (iot_u32)call->arguments[2];
  else if (number == IOT_syscall_fstat)
    path = 0;
  iot_u32 text = path && iot_config.named_paths ? iot_named_path(fd, path) : 0;
  const int is_named = text != 0;
  if (!is_named && path && !(flags & IOT_at_AT_EMPTY_PATH) && !iot_file_wanted(0))
    return;
  if (!is_named && path)
    text = iot_string_of_user(path);
  const int names_fd = number == IOT_syscall_fstat || (!text && flags & IOT_at_AT_EMPTY_PATH);
  const iot_u32 file = names_fd ? iot_file_of_fd(fd) : 0;
  if (!is_named && !iot_file_of_call_wanted(file))
    return;
  struct iot_place place;
  struct iot_syscall_stat* record = RESERVE_CALL(syscall_stat, &place, call);
  if (!record)
    return;
  record->file = file;
  record->path = text;
  record->fd = fd;
  record->flags = flags;
  COMMIT_CALL(record, &place, call);
}

#endif
