/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Code that the programs of the layer vfs share, and checks that system calls ask for. A compiler
 * may have inlined a hooked function at some of its call sites. A call therefore checks at its end
 * whether the event that it needs occurred.
 */
#ifndef IOTRAIL_VFS_BPF_H
#define IOTRAIL_VFS_BPF_H

#include "track/call.bpf.h"
#include "track/core.bpf.h"

static __always_inline void note_below(struct iot_task* task, iot_u32 kind) {
  task->below |= IOT_BELOW(kind); /* only events with attached hooks are checked */
}

/*
 * The call in progress ends without the event `kind` (low byte). A fsync is recorded from a call
 * that does nothing else, and so has the same duration. Another event is a loss
 * (kernel_hook_bypassed).
 */
int iot_find_bypassed(iot_u32 kind, iot_s64 result, iot_u64 now_ns);

/*
 * The flock() in progress ends. A lock that still waits was interrupted, which has no tracepoint.
 */
int iot_end_flock(iot_s64 result);

/*
 * Each function has two programs for the begin of its span and two for the end: tier F attaches one
 * of each, tier K the other.
 */
#define END_PROGRAMS(function, end, kind)                                                          \
  SEC("?fexit/" #function) int function##_exit(iot_u64* ctx) {                                     \
    iot_u64 result = 0;                                                                            \
    bpf_get_func_ret(ctx, &result);                                                                \
    return end(kind, ctx[0], (iot_s64)result);                                                     \
  }                                                                                                \
  SEC("?kretprobe/" #function) int function##_kretprobe(struct pt_regs* regs) {                    \
    return end(kind, 0, (iot_s64)IOT_RESULT(regs));                                                \
  }

/* Arguments of a hooked function, as numbers; 0 where it has fewer. */
struct vfs_arguments {
  iot_u64 at[6];
};

static __always_inline struct vfs_arguments vfs_arguments_of_trampoline(iot_u64* ctx) {
  struct vfs_arguments arguments = {};
  for (iot_u32 number = 0; number < 6; ++number)
    bpf_get_func_arg(ctx, number, &arguments.at[number]);
  return arguments;
}

static __always_inline struct vfs_arguments vfs_arguments_of_probe(const struct pt_regs* regs) {
  const struct vfs_arguments arguments = {{IOT_PARAMETER_0(regs), IOT_PARAMETER_1(regs),
                                           IOT_PARAMETER_2(regs), IOT_PARAMETER_3(regs),
                                           IOT_PARAMETER_4(regs), IOT_PARAMETER_5(regs)}};
  return arguments;
}

/*
 * The status of a function that returns a number in some kernels and a pointer in others: 0 or a
 * negative errno. The upper half of a number's register is its sign or 0. The kernel's addresses
 * begin at IOT_KERNEL_ADDRESS_FIRST with five levels of page tables, higher with four.
 */
#define IOT_ERRNO_LAST 4095
#define IOT_KERNEL_ADDRESS_FIRST 0xff00000000000000ULL
static __always_inline int vfs_is_pointer(iot_s64 result) {
  return (iot_u64)result >= IOT_KERNEL_ADDRESS_FIRST && result < -IOT_ERRNO_LAST;
}
static __always_inline iot_s64 vfs_status(iot_s64 result) {
  return vfs_is_pointer(result) ? 0 : visible_result((iot_s32)result);
}

/*
 * Begins the span of a function that is identified by its first argument; NULL: not recorded.
 */
static __always_inline struct iot_span* vfs_begin(struct iot_task* task, iot_u32 kind,
                                                  const struct vfs_arguments* arguments,
                                                  iot_u32 file) {
  struct iot_span* span = iot_span_begin(task, kind, arguments->at[0]);
  if (span)
    span->file = file;
  return span;
}

/* A span at its end. */
struct vfs_ended {
  struct iot_task* task;
  struct iot_span* span; /* NULL: not recorded */
  struct iot_place place;
  iot_u64 duration_ns;
  iot_u32 chosen_by; /* the file that decides whether the event is wanted */
};

static __always_inline struct vfs_ended vfs_end(iot_u32 kind, iot_u64 object) {
  struct vfs_ended ended = {.task = iot_current()};
  if (!ended.task)
    return ended;
  ended.span = iot_span_end(ended.task, kind, object);
  note_below(ended.task, kind);
  if (ended.span) {
    ended.duration_ns = bpf_ktime_get_ns() - ended.span->start_ns;
    ended.chosen_by = ended.span->file;
  }
  return ended;
}

static __always_inline void* vfs_reserve(struct vfs_ended* ended, iot_u32 kind) {
  if (!ended->span || !iot_file_wanted(ended->chosen_by))
    return 0;
  void* record = iot_reserve(&ended->place, kind);
  if (!record)
    iot_lose_span(ended->span->start_ns);
  return record;
}

/* The record of an ended span, or NULL; and its commit, with the field that all have. */
#define VFS_RESERVE(event, ended)                                                                  \
  ({                                                                                               \
    _Static_assert(sizeof(struct iot_##event) <= IOT_KERNEL_SLOT_BYTES, "larger than a slot");     \
    (struct iot_##event*)vfs_reserve((ended), IOT_KIND_##event);                                   \
  })
#define VFS_COMMIT(record, ended)                                                                  \
  do {                                                                                             \
    (record)->duration_ns = (ended)->duration_ns;                                                  \
    iot_commit(&(ended)->place, iot_owner_of((ended)->task), (ended)->span->start_ns);             \
  } while (0)

static __always_inline iot_u32 vfs_file_of_dentry(struct iot_task* task, iot_u64 dentry) {
  const struct inode* inode = BPF_CORE_READ((const struct dentry*)dentry, d_inode);
  return inode ? iot_file_of_inode(task, inode, 0) : 0;
}

/*
 * `begin` and `end` get the kind of the event; `begin` also gets the number of the function, 0 for
 * the only one of an event.
 */
#define VFS_PROGRAMS(function, call, kind, begin, end)                                             \
  SEC("?fentry/" #function) int function##_enter(iot_u64* ctx) {                                   \
    const struct vfs_arguments arguments = vfs_arguments_of_trampoline(ctx);                       \
    return begin(&arguments, kind, call);                                                          \
  }                                                                                                \
  SEC("?kprobe/" #function) int function##_kprobe(struct pt_regs* regs) {                          \
    const struct vfs_arguments arguments = vfs_arguments_of_probe(regs);                           \
    return begin(&arguments, kind, call);                                                          \
  }                                                                                                \
  END_PROGRAMS(function, end, kind)

#endif
