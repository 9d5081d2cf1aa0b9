/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Shared by the records of all system calls: a call at its return, and arguments wider than a
 * register. syscall.bpf.c chooses the record of each call.
 */
#ifndef IOTRAIL_SYSCALL_BPF_H
#define IOTRAIL_SYSCALL_BPF_H

#include "track/call.bpf.h"
#include "track/core.bpf.h"
#include "track/named_path.bpf.h"

/* One call at its return. */
struct returned {
  struct iot_task* task;
  iot_u64 arguments[8]; /* six; a power of two, so that an index can be masked */
  iot_u64 duration_ns;
  iot_s64 result;
  iot_u32 number;
  iot_u32 is_compat;
};

/*
 * One function reads them for all classes: the verifier need not check each class for two kinds of
 * programs.
 */
static __noinline int read_arguments(iot_u64* arguments, const struct pt_regs* regs,
                                     iot_u32 is_compat) {
  arguments[0] = IOT_ARGUMENT_0(regs, is_compat);
  arguments[1] = IOT_ARGUMENT_1(regs, is_compat);
  arguments[2] = IOT_ARGUMENT_2(regs, is_compat);
  arguments[3] = IOT_ARGUMENT_3(regs, is_compat);
  arguments[4] = IOT_ARGUMENT_4(regs, is_compat);
  arguments[5] = IOT_ARGUMENT_5(regs, is_compat);
  return 0;
}

/*
 * The call took less than is asked for, and no other event has its operation: the recorder would
 * leave it out (capture/selection/deferred_filter.hpp). Such an event may follow the call's own if
 * the functions of fsync() are inlined (iot_find_bypassed()).
 */
static __always_inline int may_leave_out(const struct iot_task* task, iot_u64 duration_ns) {
  if (!iot_config.min_latency_ns || iot_config.aggregates ||
      duration_ns >= iot_config.min_latency_ns || task->has_effects)
    return 0;
  return !iot_config.served_below || IOT_CALL_BELOW(task->call) != (IOT_KIND_vfs_fsync & 0xff);
}

static __always_inline int is_left_out(const struct returned* call) {
  return iot_config.min_latency_ns && call->task->leaves_out_call;
}

/* NULL: the ring is full, or the call is left out. */
static __always_inline void* reserve_call(struct iot_place* place, iot_u32 kind,
                                          const struct returned* call) {
  if (!is_left_out(call))
    return iot_reserve_cold(place, kind);
  iot_leave_out();
  return 0;
}

/* struct iot_<name>*, or NULL. */
#define RESERVE_CALL(name, place, call)                                                            \
  ({                                                                                               \
    _Static_assert(sizeof(struct iot_##name) <= IOT_KERNEL_SLOT_BYTES, "larger than a slot");      \
    (struct iot_##name*)reserve_call((place), IOT_KIND_##name, (call));                            \
  })

/* For a call without a record that may have changed files. */
static __always_inline void lose_call(const struct returned* call) {
  if (!is_left_out(call))
    iot_lose_span(call->task->entry_ns);
}

/* The kind of its record, for classes with equal records. */
static __always_inline iot_u32 kind_of(const struct returned* call) {
  return (iot_u32)(call->task->call & IOT_CALL_KIND_BITS) >> 16;
}

/* Sets the fields of the records of all calls, and commits. */
#define COMMIT_CALL(record, place, from)                                                           \
  do {                                                                                             \
    (record)->duration_ns = (from)->duration_ns;                                                   \
    (record)->result = (from)->result;                                                             \
    (record)->call = (from)->number;                                                               \
    iot_commit((place), &(from)->task->owner, (from)->task->entry_ns);                             \
  } while (0)

/* A 64-bit argument: one register, or two in 32-bit programs. */
#define WIDE(low, high, compat)                                                                    \
  ((compat) ? (iot_s64)((iot_u64)(high) << 32 | (iot_u32)(low)) : (iot_s64)(low))

/*
 * The object of a call: a descriptor's file, or a path and the descriptor of the directory that it
 * starts at.
 */
struct object {
  iot_s32 fd;
  iot_u32 file;
  iot_u32 path;
  iot_u32 is_named; /* the filter includes the path */
};

/* A filter of files excludes calls that only name a path. Global: checked once. */
__noinline iot_u32 iot_string_of_object(iot_u64 path) {
  return iot_file_wanted(0) ? iot_string_of_user(path) : 0;
}

static __always_inline iot_u64 path_of(const struct returned* call) {
  return call->arguments[(IOT_CALL_PATH(call->task->call) - 1) & 7];
}

/* False: the filter excludes a call that names two paths. */
static __always_inline int describe_paths(iot_s32 old_fd, iot_u64 old_path, iot_u32* old_text,
                                          iot_s32 new_fd, iot_u64 new_path, iot_u32* new_text) {
  if (iot_config.named_paths) {
    *old_text = iot_named_path(old_fd, old_path);
    *new_text = iot_named_path(new_fd, new_path);
  }
  if (!*old_text && !*new_text && !iot_file_wanted(0))
    return 0;
  if (!*old_text)
    *old_text = iot_string_of_user(old_path);
  if (!*new_text)
    *new_text = iot_string_of_user(new_path);
  return 1;
}

static __always_inline struct object object_of(const struct returned* call) {
  const iot_u32 fd_place = IOT_CALL_FD(call->task->call);
  const iot_u32 path_place = IOT_CALL_PATH(call->task->call);
  struct object object = {.fd = path_place ? IOT_AT_FDCWD : IOT_NO_FD};
  if (fd_place)
    object.fd = (iot_s32)call->arguments[(fd_place - 1) & 7];
  if (path_place && iot_config.named_paths)
    object.path = iot_named_path(object.fd, path_of(call));
  object.is_named = object.path != 0;
  if (path_place && !object.path)
    object.path = iot_string_of_object(path_of(call));
  else if (!path_place && fd_place)
    object.file = iot_file_of_fd(object.fd);
  return object;
}

#endif
