/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * What differs between kernels and machines, each difference one macro or function. Features are asked for, never
 * versions.
 */
#ifndef IOTRAIL_COMPAT_BPF_H
#define IOTRAIL_COMPAT_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

#include "kernel_abi.h"
#include "kernel_types.bpf.h"

extern const volatile struct io_config io_config;

/*
 * Following a kernel pointer that the verifier knows only as a number. Since "bpf: Add bpf_rdonly_cast" (kernel commit
 * a35b9af4ec2c) it can be told the type, and a load costs what it costs in C; before, each load is a call of a helper,
 * some 45 instructions. `cast` is io_config.has_cast, read once in each program.
 *
 *   struct file *file = IO_TYPED(file, number, cast);
 *   IO_LOAD(inode, file, f_inode, cast);          inode = file->f_inode
 */
extern void* bpf_rdonly_cast(const void* object, io_u32 btf_id) __ksym __weak;

#define IO_TYPED(type, pointer, cast)                                                              \
  ({                                                                                               \
    struct type* typed_ = (struct type*)(pointer);                                                 \
    if (cast)                                                                                      \
      typed_ = bpf_rdonly_cast(typed_, bpf_core_type_id_kernel(struct type));                      \
    typed_;                                                                                        \
  })

#define IO_LOAD(to, object, field, cast)                                                           \
  do {                                                                                             \
    if (cast)                                                                                      \
      (to) = (object)->field;                                                                      \
    else                                                                                           \
      bpf_core_read(&(to), sizeof(to), &(object)->field);                                          \
  } while (0)

/*
 * An argument of a system call, also at its return: handlers do not change the saved registers. 32-bit programs pass
 * theirs in others.
 */
#if defined(__TARGET_ARCH_x86)
#define IO_TS_COMPAT 2
#define IO_ARGUMENT_0(regs, compat) ((compat) ? (regs)->bx : (regs)->di)
#define IO_ARGUMENT_1(regs, compat) ((compat) ? (regs)->cx : (regs)->si)
#define IO_ARGUMENT_2(regs, compat) ((compat) ? (regs)->dx : (regs)->dx)
#define IO_ARGUMENT_3(regs, compat) ((compat) ? (regs)->si : (regs)->r10)
#define IO_ARGUMENT_4(regs, compat) ((compat) ? (regs)->di : (regs)->r8)
#define IO_ARGUMENT_5(regs, compat) ((compat) ? (regs)->bp : (regs)->r9)
#define IO_IS_COMPAT(task) ((task)->thread_info.status & IO_TS_COMPAT)
/* A parameter of a kernel function, at its entry, and its result, for kprobes. */
#define IO_PARAMETER_0(regs) ((regs)->di)
#define IO_PARAMETER_1(regs) ((regs)->si)
#define IO_PARAMETER_2(regs) ((regs)->dx)
#define IO_PARAMETER_3(regs) ((regs)->cx)
#define IO_PARAMETER_4(regs) ((regs)->r8)
#define IO_RESULT(regs) ((regs)->ax)
#elif defined(__TARGET_ARCH_arm64)
#define IO_ARGUMENT_0(regs, compat) ((regs)->orig_x0)
#define IO_ARGUMENT_1(regs, compat) ((regs)->regs[1])
#define IO_ARGUMENT_2(regs, compat) ((regs)->regs[2])
#define IO_ARGUMENT_3(regs, compat) ((regs)->regs[3])
#define IO_ARGUMENT_4(regs, compat) ((regs)->regs[4])
#define IO_ARGUMENT_5(regs, compat) ((regs)->regs[5])
#define IO_IS_COMPAT(task) 0
#define IO_PARAMETER_0(regs) ((regs)->regs[0])
#define IO_PARAMETER_1(regs) ((regs)->regs[1])
#define IO_PARAMETER_2(regs) ((regs)->regs[2])
#define IO_PARAMETER_3(regs) ((regs)->regs[3])
#define IO_PARAMETER_4(regs) ((regs)->regs[4])
#define IO_RESULT(regs) ((regs)->regs[0])
#else
#error "the registers of this machine are not described"
#endif

/* Stores before it are seen before `value`. Where the machine keeps stores in order the compiler's order is enough. */
static __always_inline void io_store_release(io_u32* to, io_u32 value) {
#if defined(__TARGET_ARCH_x86)
  asm volatile("" ::: "memory");
  *(volatile io_u32*)to = value;
#else
  __sync_lock_test_and_set(to, value);
#endif
}

#endif
