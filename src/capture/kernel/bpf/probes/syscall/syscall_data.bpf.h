/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls that move data through descriptors, set positions or make data durable: read, write, seek,
 * sync; and calls that submit or await such work: aio, io_uring.
 */
#ifndef IOTRAIL_SYSCALL_DATA_BPF_H
#define IOTRAIL_SYSCALL_DATA_BPF_H

#include "probes/syscall/syscall.bpf.h"
#include "track/append.bpf.h"

struct vector_sum {
  iot_u64 vector;
  iot_u64 sum;
  iot_u32 is_compat;
};

static long add_part(iot_u32 index, struct vector_sum* of) {
  if (of->is_compat) {
    iot_u32 length = 0;
    bpf_probe_read_user(&length, sizeof(length), (const void*)(of->vector + index * 8 + 4));
    of->sum += length;
  } else {
    iot_u64 length = 0;
    bpf_probe_read_user(&length, sizeof(length), (const void*)(of->vector + index * 16 + 8));
    of->sum += length;
  }
  return 0;
}

/*
 * Sum of the lengths of an iovec array; 0 for one that is longer than the kernel accepts: its
 * memory holds no lengths.
 */
__noinline iot_u64 iot_vector_bytes(iot_u64 vector, iot_u32 count, iot_u32 is_compat) {
  struct vector_sum of = {.vector = vector, .is_compat = is_compat};
  if (count > IOT_VECTOR_LIMIT)
    return 0;
  bpf_loop(count, add_part, &of, 0);
  return of.sum;
}

/*
 * The position at which a call of `moved` bytes began: the descriptor's position now, less those
 * bytes. The position at entry would be wrong if threads wait for each other or O_APPEND is set.
 */
static __always_inline iot_s64 position_before(iot_s64 position, iot_u32 fd_flags, iot_s64 moved) {
  if (!(fd_flags & IOT_FD_HAS_POSITION))
    return IOT_OFFSET_NONE;
  return fd_flags & IOT_FD_ADVANCES && moved > 0 && position >= moved ? position - moved : position;
}

struct target {
  iot_u32 file;
  iot_s64 offset; /* of the descriptor, -1: it has none */
};

static __always_inline struct target describe(struct iot_task* task, struct file* file,
                                              iot_s64 moved, int cast) {
  struct target target = {};
  struct inode* inode = 0;
  iot_s64 position = 0;
  iot_u32 f_mode = 0;
  iot_u16 i_mode = 0;
  IOT_LOAD(f_mode, file, f_mode, cast);
  IOT_LOAD(inode, file, f_inode, cast);
  IOT_LOAD(position, file, f_pos, cast);
  IOT_LOAD(i_mode, inode, i_mode, cast);
  target.offset = position_before(position, fd_flags_of(f_mode, i_mode), moved);
  target.file = iot_identify(task, inode, file, cast);
  return target;
}

static __always_inline struct target target_of(struct iot_task* task, iot_s32 fd, iot_s64 moved) {
  const struct target none = {.offset = IOT_OFFSET_NONE};
  struct file* typed = iot_typed_file_of_fd(fd);
  if (typed)
    return describe(task, typed, moved, 1);
  if (iot_config.has_cast)
    return none;
  const iot_u64 number = iot_file_pointer_of_fd(fd);
  return number ? describe(task, (struct file*)number, moved, 0) : none;
}

/* Reads and writes have records of one shape; the call determines the kind. */
_Static_assert(sizeof(struct iot_syscall_read) == sizeof(struct iot_syscall_write), "one shape");

static __always_inline void emit_transfer(struct returned* call) {
  const iot_s32 fd = (iot_s32)call->arguments[0];
  iot_u64 bytes = call->arguments[2];
  iot_s64 given = IOT_OFFSET_NONE;
  iot_u32 flags = 0;
  switch (call->number) {
  case IOT_syscall_read:
  case IOT_syscall_write:
    break;
  case IOT_syscall_pread64:
  case IOT_syscall_pwrite64:
    given = WIDE(call->arguments[3], call->arguments[4], call->is_compat);
    break;
  case IOT_syscall_preadv2:
  case IOT_syscall_pwritev2:
    flags = (iot_u32)call->arguments[5];
    given = WIDE(call->arguments[3], call->arguments[4], call->is_compat);
    break;
  case IOT_syscall_preadv:
  case IOT_syscall_pwritev:
    given = WIDE(call->arguments[3], call->arguments[4], call->is_compat);
    break;
  }
  if (call->number != IOT_syscall_read && call->number != IOT_syscall_write &&
      call->number != IOT_syscall_pread64 && call->number != IOT_syscall_pwrite64)
    bytes = iot_vector_bytes(call->arguments[1], (iot_u32)bytes, call->is_compat);
  const struct target target = target_of(call->task, fd, call->result);
  if (!target.file && call->result > 0) /* another thread has closed the descriptor meanwhile */
    iot_count(IOT_COUNTER_kernel_file_unknown);
  if (!iot_file_of_call_wanted(target.file))
    return;
  struct iot_place place;
  struct iot_syscall_read* record = reserve_call(&place, kind_of(call), call);
  if (!record) {
    lose_call(call);
    return;
  }
  record->offset =
      given != IOT_OFFSET_NONE ? place_of_call(call->task, fd, given, call->result) : target.offset;
  record->bytes_requested = bytes;
  record->file = target.file;
  record->fd = fd;
  record->flags = flags;
  COMMIT_CALL(record, &place, call);
}

/* _llseek(fd, high half of the offset, low half, address of the new position, whence) of i386. */
#define I386_LLSEEK 140

static __always_inline int is_llseek(const struct returned* call) {
  const struct pt_regs* regs = (const void*)bpf_task_pt_regs(bpf_get_current_task_btf());
  return call->is_compat && (iot_u32)regs->orig_ax == I386_LLSEEK;
}

static __always_inline void read_llseek(struct iot_syscall_seek* record, struct returned* call) {
  iot_s64 position = 0;
  record->offset = WIDE(call->arguments[2], call->arguments[1], 1);
  record->whence = (iot_u32)call->arguments[4];
  if (call->result == 0 &&
      bpf_probe_read_user(&position, sizeof(position), (const void*)call->arguments[3]) == 0)
    call->result = position;
}

static __always_inline void emit_seek(struct returned* call) {
  const iot_s32 fd = (iot_s32)call->arguments[0];
  const iot_u32 file = iot_file_of_fd(fd);
  if (!iot_file_of_call_wanted(file))
    return;
  struct iot_place place;
  struct iot_syscall_seek* record = RESERVE_CALL(syscall_seek, &place, call);
  if (!record)
    return;
  record->offset =
      call->is_compat ? (iot_s64)(iot_s32)call->arguments[1] : (iot_s64)call->arguments[1];
  record->file = file;
  record->fd = fd;
  record->whence = (iot_u32)call->arguments[2];
  if (is_llseek(call))
    read_llseek(record, call);
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_sync(struct returned* call) {
  const int has_fd = call->number != IOT_syscall_sync;
  const iot_s32 fd = has_fd ? (iot_s32)call->arguments[0] : IOT_NO_FD;
  const iot_u32 file = has_fd ? iot_file_of_fd(fd) : 0;
  if (!iot_file_of_call_wanted(file))
    return;
  struct iot_place place;
  struct iot_syscall_sync* record = RESERVE_CALL(syscall_sync, &place, call);
  if (!record)
    return;
  record->offset = IOT_OFFSET_NONE;
  record->bytes = 0;
  record->file = file;
  record->fd = fd;
  record->flags = 0;
  if (call->number == IOT_syscall_sync_file_range) {
    const iot_u64 second = call->arguments[2];
    const iot_u64 third = call->arguments[3];
    record->offset = WIDE(call->arguments[1], second, call->is_compat);
    record->bytes =
        (iot_u64)(call->is_compat ? WIDE(third, call->arguments[4], 1) : (iot_s64)second);
    record->flags = (iot_u32)(call->is_compat ? call->arguments[5] : third);
  }
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_aio_submit(struct returned* call) {
  if (!iot_file_wanted(0))
    return;
  struct iot_place place;
  struct iot_syscall_aio_submit* record = RESERVE_CALL(syscall_aio_submit, &place, call);
  if (!record)
    return;
  record->context = call->arguments[0];
  record->requested = (iot_s64)call->arguments[1];
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_aio_getevents(struct returned* call) {
  if (!iot_file_wanted(0))
    return;
  struct iot_place place;
  struct iot_syscall_aio_getevents* record = RESERVE_CALL(syscall_aio_getevents, &place, call);
  if (!record)
    return;
  record->context = call->arguments[0];
  record->minimum = (iot_s64)call->arguments[1];
  record->maximum = (iot_s64)call->arguments[2];
  COMMIT_CALL(record, &place, call);
}

/* io_setup(entries, &context), io_destroy(context), io_cancel(context, iocb, result) */
static __always_inline void emit_aio_context(struct returned* call) {
  const int is_setup = call->number == IOT_syscall_io_setup;
  if (!iot_file_wanted(0))
    return;
  iot_u64 context = is_setup ? 0 : call->arguments[0];
  const iot_u32 bytes = call->is_compat ? sizeof(iot_u32) : sizeof(iot_u64);
  if (is_setup && call->result >= 0 &&
      bpf_probe_read_user(&context, bytes, (const void*)call->arguments[1]))
    iot_count(IOT_COUNTER_kernel_path_unread);
  struct iot_place place;
  struct iot_syscall_aio_context* record = RESERVE_CALL(syscall_aio_context, &place, call);
  if (!record)
    return;
  record->context = context;
  record->iocb = call->number == IOT_syscall_io_cancel ? call->arguments[1] : 0;
  record->entries = is_setup ? (iot_u32)call->arguments[0] : 0;
  COMMIT_CALL(record, &place, call);
}

/* The entries in the queues of the ring of a descriptor. */
struct ring_depths {
  iot_s32 submissions;
  iot_s32 completions;
};

static __always_inline struct ring_depths depths_of_ring(iot_s32 fd, iot_u32 flags) {
  struct ring_depths depths = {-1, -1};
  const struct file* file = (const void*)iot_file_pointer_of_fd(fd);
  if (flags & IOT_uring_IORING_ENTER_REGISTERED_RING || !file)
    return depths;
  const struct io_ring_ctx* ring = (const void*)BPF_CORE_READ(file, private_data);
  const struct io_rings* rings = BPF_CORE_READ(ring, rings);
  if (!rings)
    return depths;
  depths.submissions = (iot_s32)(BPF_CORE_READ(rings, sq.tail) - BPF_CORE_READ(rings, sq.head));
  depths.completions = (iot_s32)(BPF_CORE_READ(rings, cq.tail) - BPF_CORE_READ(rings, cq.head));
  return depths;
}

static __always_inline void emit_uring_enter(struct returned* call) {
  if (!iot_file_wanted(0))
    return;
  const iot_s32 fd = (iot_s32)call->arguments[0];
  /* The descriptor of a failed call may be of no ring. */
  const struct ring_depths depths = call->result < 0
                                        ? (struct ring_depths){-1, -1}
                                        : depths_of_ring(fd, (iot_u32)call->arguments[3]);
  struct iot_place place;
  struct iot_syscall_uring_enter* record = RESERVE_CALL(syscall_uring_enter, &place, call);
  if (!record)
    return;
  record->to_submit = (iot_u32)call->arguments[1];
  record->min_complete = (iot_u32)call->arguments[2];
  record->fd = fd;
  record->flags = (iot_u32)call->arguments[3];
  record->submissions_left = depths.submissions;
  record->completions_ready = depths.completions;
  COMMIT_CALL(record, &place, call);
}

/* The begin of struct io_uring_params. */
struct uring_parameters {
  iot_u32 submission_entries;
  iot_u32 completion_entries;
  iot_u32 flags;
  iot_u32 cpu;
  iot_u32 idle_ms;
};

static __always_inline void emit_uring_setup(struct returned* call) {
  if (!iot_file_wanted(0))
    return;
  struct uring_parameters parameters = {};
  if (bpf_probe_read_user(&parameters, sizeof(parameters), (const void*)call->arguments[1]))
    iot_count(IOT_COUNTER_kernel_path_unread);
  struct iot_place place;
  struct iot_syscall_uring_setup* record = RESERVE_CALL(syscall_uring_setup, &place, call);
  if (!record)
    return;
  record->entries = (iot_u32)call->arguments[0];
  record->submission_entries = call->result < 0 ? 0 : parameters.submission_entries;
  record->completion_entries = call->result < 0 ? 0 : parameters.completion_entries;
  record->idle_ms = parameters.idle_ms;
  record->flags = parameters.flags;
  COMMIT_CALL(record, &place, call);
}

static __always_inline void emit_uring_register(struct returned* call) {
  if (!iot_file_wanted(0))
    return;
  struct iot_place place;
  struct iot_syscall_uring_register* record = RESERVE_CALL(syscall_uring_register, &place, call);
  if (!record)
    return;
  record->fd = (iot_s32)call->arguments[0];
  record->request = (iot_u32)call->arguments[1];
  record->count = (iot_u32)call->arguments[3];
  COMMIT_CALL(record, &place, call);
}

#endif
