/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * How the BPF programs treat each system call that they follow, in one word.
 */
#ifndef IOTRAIL_CALL_ABI_H
#define IOTRAIL_CALL_ABI_H

/*
 * The description of a system call by its native number; 0: not tracked. Every call of
 * schema/syscalls.def is tracked, whatever is recorded.
 */
#define IOT_CALL_CLASS_BITS 0xffULL        /* low byte of the kind of its event */
#define IOT_CALL_RECORDED (1ULL << 8)      /* its event is wanted */
#define IOT_CALL_PLAIN (1ULL << 9)         /* read, write, pread64, pwrite64 of a 64-bit program */
#define IOT_CALL_PLACED (1ULL << 10)       /* a plain call that names a position */
#define IOT_CALL_COMPAT (1ULL << 11)       /* it came through the 32-bit entry */
#define IOT_CALL_IS_LOOKED_AT (1ULL << 12) /* its arguments are needed at its entry */
#define IOT_CALL_MAY_APPEND                                                                        \
  (1ULL << 13)                         /* a write that names a position, which O_APPEND overrides */
#define IOT_CALL_EXCLUDED (1ULL << 14) /* only other operations are recorded */
#define IOT_CALL_SUBMITS (1ULL << 15)  /* the same, but it may submit recorded ones */
#define IOT_CALL_KIND_BITS 0xffff0000ULL /* at the position of the kind in a record's header */
#define IOT_CALL_NUMBER_SHIFT 32         /* number in the value table `syscall` */
#define IOT_CALL_FD_SHIFT 48    /* index of the argument that is a descriptor, plus 1; 0: none */
#define IOT_CALL_PATH_SHIFT 52  /* the same for the argument that is a path */
#define IOT_CALL_BELOW_SHIFT 56 /* low byte of the vfs event that it cannot succeed without */
#define IOT_CALL_CLASS(call) ((iot_u32)((call) & IOT_CALL_CLASS_BITS))
#define IOT_CALL_NUMBER(call) ((iot_u32)((call) >> IOT_CALL_NUMBER_SHIFT) & 0xffffU)
#define IOT_CALL_FD(call) ((iot_u32)((call) >> IOT_CALL_FD_SHIFT) & 0xfU)
#define IOT_CALL_PATH(call) ((iot_u32)((call) >> IOT_CALL_PATH_SHIFT) & 0xfU)
#define IOT_CALL_BELOW(call) ((iot_u32)((call) >> IOT_CALL_BELOW_SHIFT))
#define IOT_BELOW(kind) (1U << ((kind) & (IOT_BELOW_LIMIT - 1))) /* in a set of vfs events */

#endif
