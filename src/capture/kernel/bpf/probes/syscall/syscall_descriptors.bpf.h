/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls that make descriptors of files without a path, close many descriptors, and mount file
 * systems.
 */
#ifndef IOTRAIL_SYSCALL_DESCRIPTORS_BPF_H
#define IOTRAIL_SYSCALL_DESCRIPTORS_BPF_H

#include "probes/syscall/syscall.bpf.h"

static __always_inline iot_u32 flags_of_new(const struct returned* call) {
  switch (call->number) {
  case IOT_syscall_epoll_create1:
  case IOT_syscall_inotify_init1:
    return (iot_u32)call->arguments[0];
  case IOT_syscall_eventfd2:
  case IOT_syscall_memfd_create:
  case IOT_syscall_timerfd_create:
    return (iot_u32)call->arguments[1];
  default:
    return 0;
  }
}

/* epoll_create1(flags), eventfd2(count, flags), memfd_create(name, flags), timerfd_create(clock, flags), and their like */
static __always_inline void emit_descriptor(struct returned* call) {
  const iot_u32 file = call->result >= 0 ? iot_file_of_fd((iot_s32)call->result) : 0;
  if (!iot_file_of_call_wanted(file))
    return;
  const iot_u32 name =
      call->number == IOT_syscall_memfd_create ? iot_string_of_user(call->arguments[0]) : 0;
  struct iot_place place;
  struct iot_syscall_descriptor* record = RESERVE_CALL(syscall_descriptor, &place, call);
  if (!record)
    return;
  record->file = file;
  record->name = name;
  record->flags = flags_of_new(call);
  COMMIT_CALL(record, &place, call);
}

/* pipe(descriptors), pipe2(descriptors, flags) */
static __always_inline void emit_pipe(struct returned* call) {
  iot_s32 ends[2] = {IOT_NO_FD, IOT_NO_FD};
  if (call->result >= 0 && bpf_probe_read_user(ends, sizeof(ends), (const void*)call->arguments[0]))
    iot_count(IOT_COUNTER_kernel_path_unread);
  const iot_u32 file = iot_file_of_fd(ends[0]);
  if (!iot_file_of_call_wanted(file))
    return;
  struct iot_place place;
  struct iot_syscall_pipe* record = RESERVE_CALL(syscall_pipe, &place, call);
  if (!record)
    return;
  record->file = file;
  record->read_fd = ends[0];
  record->write_fd = ends[1];
  record->flags = call->number == IOT_syscall_pipe2 ? (iot_u32)call->arguments[1] : 0;
  COMMIT_CALL(record, &place, call);
}

/* close_range(first, last, flags) */
static __always_inline void emit_close_range(struct returned* call) {
  if (!iot_file_wanted(0))
    return;
  struct iot_place place;
  struct iot_syscall_close_range* record = RESERVE_CALL(syscall_close_range, &place, call);
  if (!record)
    return;
  record->first = (iot_u32)call->arguments[0];
  record->last = (iot_u32)call->arguments[1];
  record->flags = (iot_u32)call->arguments[2];
  COMMIT_CALL(record, &place, call);
}

/* mount(source, directory, type, flags, data), umount2(directory, flags) */
static __always_inline void emit_mount(struct returned* call) {
  if (!iot_file_wanted(0))
    return;
  const int is_mount = call->number == IOT_syscall_mount;
  const iot_u64* from = call->arguments;
  const iot_u32 path = iot_string_of_user(is_mount ? from[1] : from[0]);
  const iot_u32 source = is_mount && from[0] ? iot_string_of_user(from[0]) : 0;
  const iot_u32 type = is_mount && from[2] ? iot_string_of_user(from[2]) : 0;
  struct iot_place place;
  struct iot_syscall_mount* record = RESERVE_CALL(syscall_mount, &place, call);
  if (!record)
    return;
  record->path = path;
  record->source = source;
  record->type = type;
  record->flags = is_mount ? (iot_u32)from[3] : 0;
  record->unmount_flags = is_mount ? 0 : (iot_u32)from[1];
  COMMIT_CALL(record, &place, call);
}

#endif
