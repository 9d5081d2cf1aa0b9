/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * What the records of all system calls stand on: a call at its return, and arguments wider than a register. Which call
 * makes which record: syscall.bpf.c.
 */
#ifndef IOTRAIL_SYSCALL_BPF_H
#define IOTRAIL_SYSCALL_BPF_H

#include "core.bpf.h"

/* Results within the kernel, which a program sees as EINTR, or as a call begun again. */
#define ERESTART_FIRST 512
#define ERESTART_LAST 516

static __always_inline iot_s64 visible_result(iot_s64 result) {
  if (result >= 0) /* most are: one comparison */
    return result;
  return result <= -ERESTART_FIRST && result >= -ERESTART_LAST ? -EINTR : result;
}

/* Classes: the low byte of the kinds. */
#define CLASS(name) (IOT_KIND_syscall_##name & 0xff)

/* What the number of a call stands for; 0: a call that no event is of. */
static __always_inline iot_u64 call_of(struct task_struct* current, iot_u64 number) {
  const iot_u32 native = (iot_u32)number & ~0x40000000U; /* the mark of the x32 ABI */
  if (native >= IOT_SYSCALL_LIMIT)
    return 0;
  return IOT_IS_COMPAT(current) ? iot_config.compat_calls[native] : iot_config.calls[native];
}

/* One call at its return. */
struct returned {
  struct iot_task* task;
  iot_u64 arguments[8]; /* six; a power of two, so that an index can be masked */
  iot_u64 duration_ns;
  iot_s64 result;
  iot_u32 number;
  iot_u32 is_compat;
};

/* Read by one function for all classes: the verifier need not check each class for two kinds of programs. */
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

/* Of its record; for classes whose records are alike. */
static __always_inline iot_u32 kind_of(const struct returned* call) {
  return (iot_u32)(call->task->call & IOT_CALL_KIND_BITS) >> 16;
}

/* The fields that the records of all calls have, and the hand-over. */
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

/* What a call is done to: a descriptor's file, or a path and the descriptor of the directory that it begins at. */
struct object {
  iot_s32 fd;
  iot_u32 file;
  iot_u32 path;
};

/* A filter of files leaves out calls that only name a path. Global: checked once. */
__noinline iot_u32 iot_text_of_object(iot_u64 path) {
  return iot_file_wanted(0) ? iot_text_of_user(path) : 0;
}

static __always_inline struct object object_of(const struct returned* call) {
  const iot_u32 fd_place = IOT_CALL_FD(call->task->call);
  const iot_u32 path_place = IOT_CALL_PATH(call->task->call);
  struct object object = {.fd = path_place ? IOT_AT_FDCWD : IOT_NO_FD};
  if (fd_place)
    object.fd = (iot_s32)call->arguments[(fd_place - 1) & 7];
  if (path_place)
    object.path = iot_text_of_object(call->arguments[(path_place - 1) & 7]);
  else if (fd_place)
    object.file = iot_file_of_fd(object.fd);
  return object;
}

/* Argument `index`, 0 to 5, of the call in progress in the running task. */
static __always_inline iot_u64 argument_of(const struct pt_regs* regs, iot_u32 index, int compat) {
  switch (index) {
  case 0:
    return IOT_ARGUMENT_0(regs, compat);
  case 1:
    return IOT_ARGUMENT_1(regs, compat);
  case 2:
    return IOT_ARGUMENT_2(regs, compat);
  case 3:
    return IOT_ARGUMENT_3(regs, compat);
  case 4:
    return IOT_ARGUMENT_4(regs, compat);
  default:
    return IOT_ARGUMENT_5(regs, compat);
  }
}

/* The descriptor that the call in progress names; IOT_NO_FD: it names none. */
static __always_inline iot_s32 fd_of_call(const struct pt_regs* regs, iot_u64 call) {
  const iot_u32 place = IOT_CALL_FD(call);
  if (!place)
    return IOT_NO_FD;
  return (iot_s32)(call & IOT_CALL_COMPAT ? argument_of(regs, place - 1, 1)
                                          : argument_of(regs, place - 1, 0));
}

#endif
