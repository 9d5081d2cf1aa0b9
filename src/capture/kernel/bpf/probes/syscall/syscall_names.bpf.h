/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls on names, attributes and directories: link, access, readlink, setattr, xattr, statfs, readdir, chdir.
 */
#ifndef IOTRAIL_SYSCALL_NAMES_BPF_H
#define IOTRAIL_SYSCALL_NAMES_BPF_H

#include "probes/syscall/syscall.bpf.h"

/* link(old, new), linkat(fd, old, fd, new, flags), symlink(text, new), symlinkat(text, fd, new) */
static __always_inline void emit_link(struct returned* call) {
  const int is_linkat = call->number == IOT_syscall_linkat;
  const iot_u64 target = is_linkat ? call->arguments[1] : call->arguments[0];
  const iot_s32 target_fd = is_linkat ? (iot_s32)call->arguments[0] : IOT_AT_FDCWD;
  const int is_symbolic =
      call->number == IOT_syscall_symlink || call->number == IOT_syscall_symlinkat;
  struct object object = object_of(call);
  iot_u32 text = 0;
  if (iot_config.named_paths && !is_symbolic)
    text = iot_named_path(target_fd, target);
  if (!text && !object.is_named && !iot_file_wanted(0))
    return;
  if (!text)
    text = iot_string_of_user(target);
  if (iot_config.named_paths && !object.path)
    object.path = iot_string_of_user(path_of(call));
  struct iot_place place;
  struct iot_syscall_link* record = RESERVE_CALL(syscall_link, &place, call);
  if (!record)
    return;
  record->target = text;
  record->path = object.path;
  record->target_fd = target_fd;
  record->fd = object.fd;
  record->flags = is_linkat ? (iot_u32)call->arguments[4] : 0;
  COMMIT_CALL(record, &place, call);
}

/* access(path, mode), faccessat(fd, path, mode), faccessat2(fd, path, mode, flags) */
static __always_inline void emit_access(struct returned* call) {
  const int is_at = call->number != IOT_syscall_access;
  const struct object object = object_of(call);
  if (!object.is_named && !iot_file_wanted(0))
    return;
  struct iot_place place;
  struct iot_syscall_access* record = RESERVE_CALL(syscall_access, &place, call);
  if (!record)
    return;
  record->path = object.path;
  record->fd = object.fd;
  record->mode = (iot_u32)(is_at ? call->arguments[2] : call->arguments[1]);
  record->flags = call->number == IOT_syscall_faccessat2 ? (iot_u32)call->arguments[3] : 0;
  COMMIT_CALL(record, &place, call);
}

/* readlink(path, buffer, size), readlinkat(fd, path, buffer, size) */
static __always_inline void emit_readlink(struct returned* call) {
  const int is_at = call->number == IOT_syscall_readlinkat;
  const struct object object = object_of(call);
  if (!object.is_named && !iot_file_wanted(0))
    return;
  struct iot_place place;
  struct iot_syscall_readlink* record = RESERVE_CALL(syscall_readlink, &place, call);
  if (!record)
    return;
  record->bytes_requested = is_at ? call->arguments[3] : call->arguments[2];
  record->path = object.path;
  record->fd = object.fd;
  COMMIT_CALL(record, &place, call);
}

/*
 * The arguments after the path or descriptor: mode, or owner and group, then flags. For times only
 * the flags are recorded.
 */
static __always_inline void emit_setattr(struct returned* call) {
  const iot_u32 number = call->number;
  const int is_mode = number == IOT_syscall_chmod || number == IOT_syscall_fchmod ||
                      number == IOT_syscall_fchmodat || number == IOT_syscall_fchmodat2;
  const int is_owner = number == IOT_syscall_chown || number == IOT_syscall_fchown ||
                       number == IOT_syscall_lchown || number == IOT_syscall_fchownat;
  const int is_at = number == IOT_syscall_fchmodat || number == IOT_syscall_fchmodat2 ||
                    number == IOT_syscall_fchownat;
  const iot_u64 first = is_at ? call->arguments[2] : call->arguments[1];
  const iot_u64 second = is_at ? call->arguments[3] : call->arguments[2];
  iot_u32 flags = 0;
  if (number == IOT_syscall_fchownat)
    flags = (iot_u32)call->arguments[4];
  else if (number == IOT_syscall_utimensat || number == IOT_syscall_fchmodat2)
    flags = (iot_u32)call->arguments[3];
  struct object object = object_of(call);
  if (IOT_CALL_PATH(call->task->call) &&
      !object.path) /* futimens: no path, the descriptor itself */
    object.file = iot_file_of_fd(object.fd);
  if (!object.is_named && !iot_file_of_call_wanted(object.file))
    return;
  struct iot_place place;
  struct iot_syscall_setattr* record = RESERVE_CALL(syscall_setattr, &place, call);
  if (!record)
    return;
  record->file = object.file;
  record->path = object.path;
  record->fd = object.fd;
  record->mode = is_mode ? (iot_u32)first : 0;
  record->uid = is_owner ? (iot_s32)first : -1;
  record->gid = is_owner ? (iot_s32)second : -1;
  record->flags = flags;
  COMMIT_CALL(record, &place, call);
}

/* get and set: (object, name, value, size), list: (object, buffer, size), remove: (object, name) */
static __always_inline void emit_xattr(struct returned* call) {
  const iot_u32 number = call->number;
  const int is_list = number >= IOT_syscall_listxattr && number <= IOT_syscall_flistxattr;
  const int is_remove = number >= IOT_syscall_removexattr && number <= IOT_syscall_fremovexattr;
  const struct object object = object_of(call);
  if (!object.is_named && !iot_file_of_call_wanted(object.file))
    return;
  const iot_u32 name = is_list ? 0 : iot_string_of_user(call->arguments[1]);
  struct iot_place place;
  struct iot_syscall_xattr* record = RESERVE_CALL(syscall_xattr, &place, call);
  if (!record)
    return;
  record->bytes_requested = is_remove ? 0 : is_list ? call->arguments[2] : call->arguments[3];
  record->file = object.file;
  record->path = object.path;
  record->name = name;
  record->fd = object.fd;
  COMMIT_CALL(record, &place, call);
}

_Static_assert(sizeof(struct iot_syscall_statfs) == sizeof(struct iot_syscall_chdir), "one shape");

/* Calls without further arguments to record. */
static __always_inline void emit_object(struct returned* call) {
  const struct object object = object_of(call);
  if (!object.is_named && !iot_file_of_call_wanted(object.file))
    return;
  struct iot_place place;
  struct iot_syscall_statfs* record = reserve_call(&place, kind_of(call), call);
  if (!record)
    return;
  record->file = object.file;
  record->path = object.path;
  record->fd = object.fd;
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_readdir(struct returned* call) {
  const struct object object = object_of(call);
  if (!object.is_named && !iot_file_of_call_wanted(object.file))
    return;
  struct iot_place place;
  struct iot_syscall_readdir* record = RESERVE_CALL(syscall_readdir, &place, call);
  if (!record)
    return;
  record->bytes_requested = call->arguments[2];
  record->file = object.file;
  record->fd = object.fd;
  COMMIT_CALL(record, &place, call);
}

#endif
