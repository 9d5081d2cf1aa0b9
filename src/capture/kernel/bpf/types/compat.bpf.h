/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * What differs between kernels and machines, each difference one macro or function. Features are asked for, never
 * versions.
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
 * Why an entry was not put into a map: 0, or a negative errno. Maps return an int up to Linux 6.3, of which the upper half
 * of the register tells nothing: as a long it is no negative number.
 */
#define IOT_UPDATE(map, key, value, flags) ((int)bpf_map_update_elem(map, key, value, flags))

/*
 * Following a kernel pointer that the verifier knows only as a number. Since "bpf: Add bpf_rdonly_cast" (kernel commit
 * a35b9af4ec2c) it can be told the type, and a load costs what it costs in C; before, each load is a call of a helper,
 * some 45 instructions. `cast` is iot_config.has_cast, read once in each program.
 *
 *   struct file *file = IOT_TYPED(file, number, cast);
 *   IOT_LOAD(inode, file, f_inode, cast);          inode = file->f_inode
 *
 * Declared as a function of the kernel it would have libbpf read all of the kernel's types for its number, which takes
 * 15 ms: the loader, which knows it, puts it in (program_loader.hpp).
 */
static void* (*const bpf_rdonly_cast)(const void* object, iot_u32 btf_id) = (void*)IOT_CAST_CALL;

/* Structures, by the number that the kernel's type information has them under: relocation_types.hpp fills that in. */
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
 * An argument of a tp_btf or fentry program, whose loads are cheap either way. Since 6.3 the verifier looks through all
 * of the kernel's types for each pointer loaded through a trusted pointer, which makes loading slow: for what pointers
 * it holds, such an argument is forgotten to be trusted. Numbers are better loaded through the argument as it came: one
 * instruction each, where a load that may fail takes eight. Of a type of a module, which no cast can name, pointers are read by
 * BPF_CORE_READ: such tracepoints are rare ones.
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
 * The same number, of which the verifier does not know what it is: what comes behind need not be checked for each value that
 * it may have had on the way there. What an atomic operation leaves in memory is a number to it like any other.
 */
static __always_inline iot_u64 iot_hide_range(iot_u64 known) {
  iot_u64 number = 0;
  __atomic_exchange_n(&number, known, __ATOMIC_RELAXED);
  return *(volatile iot_u64*)&number;
}

/*
 * An address as a number also to the verifier, which lets nothing be computed of what it knows to be a pointer. Three instructions, where a
 * helper that copies takes 80.
 */
static __always_inline iot_u64 iot_number_of(const void* pointer) {
  return iot_hide_range((iot_u64)pointer);
}

/* A word of the kernel's memory, 0 where there is none. The type is one that begins with a number of that size. */
static __always_inline iot_u64 iot_read_word(iot_u64 address) {
  if (iot_config.has_cast)
    return (iot_u64)IOT_TYPED(timespec64, address, 1)->tv_sec;
  iot_u64 word = 0;
  bpf_probe_read_kernel(&word, sizeof(word), (const void*)address);
  return word;
}

/*
 * An argument of a system call, also at its return: handlers do not change the saved registers. 32-bit programs pass
 * theirs in others.
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
/* A parameter of a kernel function, at its entry, and its result, for kprobes. */
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

/* Stores before it are seen before `value`: x86 keeps stores in order, so the compiler's order is enough. */
static __always_inline void iot_store_release(volatile iot_u64* to, iot_u64 value) {
  asm volatile("" ::: "memory");
  *to = value;
}

#endif
