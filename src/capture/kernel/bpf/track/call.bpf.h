/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The system call that a task is in: its class, its arguments, its descriptor, and the result that the program sees.
 */
#ifndef IOTRAIL_CALL_BPF_H
#define IOTRAIL_CALL_BPF_H

#include "types/compat.bpf.h"

/* Results inside the kernel. A program sees EINTR, or the call is restarted. */
#define ERESTART_FIRST 512
#define ERESTART_LAST 516

static __always_inline iot_s64 visible_result(iot_s64 result) {
  if (result >= 0) /* most are: one comparison */
    return result;
  return result <= -ERESTART_FIRST && result >= -ERESTART_LAST ? -EINTR : result;
}

/* A class is the low byte of the kind. */
#define CLASS(name) (IOT_KIND_syscall_##name & 0xff)

/* The description of a call by its native number; 0: no event is about it. */
static __always_inline iot_u64 call_of(struct task_struct* current, iot_u64 number) {
  const iot_u32 native = (iot_u32)number & ~0x40000000U; /* the mark of the x32 ABI */
  if (native >= IOT_SYSCALL_LIMIT)
    return 0;
  return IOT_IS_COMPAT(current) ? iot_config.compat_calls[native] : iot_config.calls[native];
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
