/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Each difference between kernels and machines is one macro or function here. The programs ask for
 * features, never for versions.
 */
#ifndef IOTRAIL_COMPAT_BPF_H
#define IOTRAIL_COMPAT_BPF_H

#include <linux/bpf.h>
#include <linux/errno.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

#include "capture/kernel/abi/kernel_abi.h"
#include "types/kernel_types.bpf.h"

extern const volatile struct iot_config iot_config;

/*
 * Why an entry was not put into a map: 0, or a negative errno. Up to Linux 6.3 maps return an int,
 * which leaves the upper half of the register undefined: read as a long, an error is not negative.
 */
#define IOT_UPDATE(map, key, value, flags) ((int)bpf_map_update_elem(map, key, value, flags))

/*
 * Following a kernel pointer that is only a number to the verifier. Since "bpf: Add
 * bpf_rdonly_cast" (kernel commit a35b9af4ec2c) a cast gives it a type, and a load costs as much as
 * in C. Before, each load is a call of a helper, some 45 instructions. `cast` is
 * iot_config.has_cast, read once in each program.
 *
 *   struct file *file = IOT_TYPED(file, number, cast);
 *   IOT_LOAD(inode, file, f_inode, cast);          inode = file->f_inode
 *
 * The cast is not declared as a function of the kernel: libbpf would read all of the kernel's types
 * for its number, in 15 ms. The loader knows the number and inserts it (program_loader.hpp).
 */
static void* (*const bpf_rdonly_cast)(const void* object, iot_u32 btf_id) = (void*)IOT_CAST_CALL;

/*
 * Structures by their number in the kernel's type information. relocation_types.hpp fills in the
 * numbers.
 */
enum iot_type_number {
  IOT_TYPE_NUMBER_address_space = 1,
  IOT_TYPE_NUMBER_bio,
  IOT_TYPE_NUMBER_blkdev_dio,
  IOT_TYPE_NUMBER_file,
  IOT_TYPE_NUMBER_folio,
  IOT_TYPE_NUMBER_inode,
  IOT_TYPE_NUMBER_io_kiocb,
  IOT_TYPE_NUMBER_iomap_dio,
  IOT_TYPE_NUMBER_kiocb,
  IOT_TYPE_NUMBER_request,
  IOT_TYPE_NUMBER_request_queue,
  IOT_TYPE_NUMBER_sbitmap_word,
  IOT_TYPE_NUMBER_sk_buff,
  IOT_TYPE_NUMBER_task_struct,
  IOT_TYPE_NUMBER_timespec64,
};

#define IOT_TYPED(type, pointer, cast)                                                             \
  ({                                                                                               \
    struct type* typed_ = (struct type*)(pointer);                                                 \
    if (cast)                                                                                      \
      typed_ = bpf_rdonly_cast(typed_,                                                             \
                               bpf_core_enum_value(enum iot_type_number, IOT_TYPE_NUMBER_##type)); \
    typed_;                                                                                        \
  })

/*
 * An argument of a tp_btf or fentry program, where each load is cheap. Since 6.3 the verifier
 * searches all of the kernel's types for each pointer loaded through a trusted pointer, so loading
 * is slow. To load pointers from an argument, make it untrusted first. Load numbers through the
 * trusted argument: one instruction each, where a load that may fail takes eight. Pointers in a
 * type of a module, which no cast can name, are read by BPF_CORE_READ: such tracepoints are rare.
 */
#define IOT_UNTRUSTED(type, pointer) IOT_TYPED(type, pointer, iot_config.has_cast)

#define IOT_LOAD(to, object, field, cast)                                                          \
  do {                                                                                             \
    if (cast)                                                                                      \
      (to) = (object)->field;                                                                      \
    else                                                                                           \
      bpf_core_read(&(to), sizeof(to), &(object)->field);                                          \
  } while (0)

/*
 * The same number, without the verifier's knowledge of its value. The verifier then need not check
 * the code behind it for each possible value: the result of an atomic operation in memory can be
 * any number.
 */
static __always_inline iot_u64 iot_hide_range(iot_u64 known) {
  iot_u64 number = 0;
  __atomic_exchange_n(&number, known, __ATOMIC_RELAXED);
  return *(volatile iot_u64*)&number;
}

/*
 * An address that is a number to the verifier, too: it allows no arithmetic on a known pointer.
 * Takes three instructions, where a helper that copies takes 80.
 */
static __always_inline iot_u64 iot_number_of(const void* pointer) {
  return iot_hide_range((iot_u64)pointer);
}

/*
 * A word of the kernel's memory; 0 if it is unreadable. The type is any that begins with a number
 * of that size.
 */
static __always_inline iot_u64 iot_read_word(iot_u64 address) {
  if (iot_config.has_cast)
    return (iot_u64)IOT_TYPED(timespec64, address, 1)->tv_sec;
  iot_u64 word = 0;
  bpf_probe_read_kernel(&word, sizeof(word), (const void*)address);
  return word;
}

/*
 * An argument of a system call, also at its return: handlers do not change the saved registers.
 * 32-bit programs use other registers.
 */
#if defined(__TARGET_ARCH_x86)
#define IOT_TS_COMPAT 2
#define IOT_ARGUMENT_0(regs, compat) ((compat) ? (regs)->bx : (regs)->di)
#define IOT_ARGUMENT_1(regs, compat) ((compat) ? (regs)->cx : (regs)->si)
#define IOT_ARGUMENT_2(regs, compat) ((compat) ? (regs)->dx : (regs)->dx)
#define IOT_ARGUMENT_3(regs, compat) ((compat) ? (regs)->si : (regs)->r10)
#define IOT_ARGUMENT_4(regs, compat) ((compat) ? (regs)->di : (regs)->r8)
#define IOT_ARGUMENT_5(regs, compat) ((compat) ? (regs)->bp : (regs)->r9)
#define IOT_IS_COMPAT(task) ((task)->thread_info.status & IOT_TS_COMPAT)
/* A parameter of a kernel function at its entry, and its result, for kprobes. */
#define IOT_PARAMETER_0(regs) ((regs)->di)
#define IOT_PARAMETER_1(regs) ((regs)->si)
#define IOT_PARAMETER_2(regs) ((regs)->dx)
#define IOT_PARAMETER_3(regs) ((regs)->cx)
#define IOT_PARAMETER_4(regs) ((regs)->r8)
#define IOT_PARAMETER_5(regs) ((regs)->r9)
#define IOT_RESULT(regs) ((regs)->ax)
#else
#error "the registers of this machine are not described"
#endif

/*
 * Stores before it are visible before `value`. x86 keeps stores in order, so a compiler barrier is
 * enough.
 */
static __always_inline void iot_store_release(volatile iot_u64* to, iot_u64 value) {
  asm volatile("" ::: "memory");
  *to = value;
}

#endif
