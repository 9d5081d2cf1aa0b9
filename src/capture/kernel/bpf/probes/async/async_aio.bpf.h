/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Operations of libaio. Each is known by the program's iocb from io_submit to the io_getevents that
 * reports its end. All arguments are read from the program's memory.
 */
#ifndef IOTRAIL_ASYNC_AIO_BPF_H
#define IOTRAIL_ASYNC_AIO_BPF_H

#include "track/async.bpf.h"
#include "track/call.bpf.h"
#include "track/task_filter.bpf.h"

/* struct iocb and struct io_event of linux/aio_abi.h. */
struct program_iocb {
  iot_u64 data;
  iot_u32 key;
  iot_u32 rwf_flags;
  iot_u16 opcode;
  iot_u16 priority;
  iot_u32 fd;
  iot_u64 buffer;
  iot_u64 bytes;
  iot_s64 offset;
};
struct program_event {
  iot_u64 data;
  iot_u64 iocb;
  iot_s64 result;
  iot_s64 result2;
};

#define AIO_BATCH_LIMIT 4096 /* operations of one call that are followed */
#define AIO_PREADV                                                                                 \
  (IOT_async_call_IOCB_CMD_PREADV - LIBAIO_CALL) /* from here on `bytes` counts vectors */
#define AIO_VECTORS_LIMIT 1024                   /* UIO_MAXIOV: the kernel refuses more */

/* The pointers to iocbs of an io_submit. */
struct aio_batch {
  iot_u64 context;
  iot_u64 list;
  iot_u32 first;
  iot_u32 is_compat;
};

static __always_inline iot_u64 iocb_at(const struct aio_batch* batch, iot_u32 index) {
  iot_u64 pointer = 0;
  const iot_u32 size = batch->is_compat ? 4 : 8;
  if (bpf_probe_read_user(&pointer, size, (const void*)(batch->list + (iot_u64)index * size)))
    return 0;
  return pointer;
}

struct aio_program_vector {
  iot_u64 base;
  iot_u64 bytes;
};
struct aio_vectors {
  iot_u64 address;
  iot_u64 bytes; /* sum */
};

static long add_aio_vector(iot_u32 index, struct aio_vectors* vectors) {
  struct aio_program_vector vector = {};
  const iot_u64 address = vectors->address + (iot_u64)index * sizeof(vector);
  if (bpf_probe_read_user(&vector, sizeof(vector), (const void*)address)) {
    vectors->bytes = 0;
    return 1;
  }
  vectors->bytes += vector.bytes;
  return 0;
}

/* 0: unknown, as for a 32-bit program's vectors. */
static __always_inline iot_u64 aio_bytes(const struct program_iocb* iocb, iot_u32 is_compat) {
  if (iocb->opcode < AIO_PREADV)
    return iocb->bytes;
  struct aio_vectors vectors = {.address = iocb->buffer};
  if (!is_compat && iocb->bytes <= AIO_VECTORS_LIMIT)
    bpf_loop((iot_u32)iocb->bytes, add_aio_vector, &vectors, 0);
  return vectors.bytes;
}

/* The submitting task. It may be suppressed until its first recorded operation. */
static __always_inline struct iot_task* aio_submitter(void) {
  struct task_struct* current = bpf_get_current_task_btf();
  if (!iot_config.filters_operations)
    return iot_busy(current);
  struct iot_task* own = iot_state_of(current);
  return own && own->owner.op_id && !(own->suppressed_by & ~IOT_OTHER_OPERATION) ? own : 0;
}

static long begin_aio(iot_u32 index, struct aio_batch* batch) {
  struct iot_task* task = aio_submitter();
  if (!task)
    return 1;
  const iot_u64 address = iocb_at(batch, index);
  const struct iot_async_key key = iocb_key(address);
  struct program_iocb iocb = {};
  if (bpf_probe_read_user(&iocb, sizeof(iocb), (const void*)address))
    return 1; /* an address that the kernel will refuse too, or one that is not in memory: counted at the end */
  ++task->aio_begun;
  if (iot_config.filters_operations && !iot_choose_submitted(task, LIBAIO_CALL + iocb.opcode))
    return 0;
  struct iot_async async = {
      .owner = *iot_owner_of(task),
      .start_ns = bpf_ktime_get_ns(),
      .user_data = iocb.data,
      .ring = batch->context,
      .offset = iocb.offset,
      .bytes_requested = aio_bytes(&iocb, batch->is_compat),
      .file = iot_file_of_fd((iot_s32)iocb.fd),
      .fd = (iot_s32)iocb.fd,
      .call = LIBAIO_CALL + iocb.opcode,
  };
  forget_place_of_append(&async, iocb.rwf_flags);
  async.owner.parent_op = task->owner.op_id;
  async.owner.op_id = iot_new_op(task);
  iot_async_begin(&key, &async, task);
  return 0;
}

/* Forgets an operation that was not accepted. */
static long forget_aio(iot_u32 index, struct aio_batch* batch) {
  const struct iot_async_key key = iocb_key(iocb_at(batch, batch->first + index));
  const struct iot_async* async = bpf_map_lookup_elem(&asyncs, &key);
  if (async)
    forget_async(&key, async);
  return 0;
}

static __always_inline iot_u32 at_most(iot_u64 count, iot_u32 most) {
  return count < most ? (iot_u32)count : most;
}

/*
 * The begin of io_submit(context, count, list). The time of its entry is taken once its operations
 * are stored.
 */
__noinline int iot_begin_aio_submit(iot_u32 is_compat) {
  struct iot_task* task = aio_submitter();
  if (!task)
    return 0;
  const struct pt_regs* regs = (const struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  struct aio_batch batch = {.context = argument_of(regs, 0, is_compat),
                            .list = argument_of(regs, 2, is_compat),
                            .is_compat = is_compat};
  const iot_s64 count = (iot_s64)argument_of(regs, 1, is_compat);
  task->aio_begun = 0;
  if (count > 0)
    bpf_loop(at_most((iot_u64)count, AIO_BATCH_LIMIT), begin_aio, &batch, 0);
  if (iot_config.filters_operations &&
      task->keeps_call) /* the work for its operations cannot be separated */
    iot_unsuppress(task, IOT_OTHER_OPERATION);
  task->entry_ns = bpf_ktime_get_ns();
  return 0;
}

static long lose_aio(iot_u32 index, void* unused) {
  iot_lose(IOT_COUNTER_kernel_async_untracked);
  return 0;
}

/*
 * The end of io_submit. Operations that it did not accept have not begun. Accepted operations that
 * are unknown are lost.
 */
__noinline int iot_end_aio_submit(iot_s64 accepted) {
  struct iot_task* task = iot_busy(bpf_get_current_task_btf());
  if (!task)
    return 0;
  const struct pt_regs* regs = (const struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  const iot_u32 is_compat = (task->call & IOT_CALL_COMPAT) != 0;
  const iot_s64 count = (iot_s64)argument_of(regs, 1, is_compat);
  if (accepted < 0)
    accepted = 0;
  if (accepted > task->aio_begun && iot_wants(IOT_KIND_async_operation))
    bpf_loop(at_most((iot_u64)accepted - task->aio_begun, IOT_ASYNC_LIMIT), lose_aio, 0, 0);
  if (count <= accepted)
    return 0;
  struct aio_batch batch = {
      .list = argument_of(regs, 2, is_compat), .first = (iot_u32)accepted, .is_compat = is_compat};
  bpf_loop(at_most((iot_u64)(count - accepted), AIO_BATCH_LIMIT), forget_aio, &batch, 0);
  return 0;
}

struct aio_events {
  iot_u64 list;
  iot_u64 now_ns;
};

static long end_aio(iot_u32 index, struct aio_events* events) {
  struct program_event event = {};
  if (bpf_probe_read_user(&event, sizeof(event),
                          (const void*)(events->list + (iot_u64)index * sizeof(event))))
    return 0;
  const struct iot_async_key key = iocb_key(event.iocb);
  const struct iot_async* async = bpf_map_lookup_elem(&asyncs, &key);
  if (!async)
    return 0;
  emit_async_operation(async, event.result, events->now_ns);
  forget_async(&key, async);
  return 0;
}

/* The end of io_getevents(context, minimum, maximum, events, timeout). */
__noinline int iot_reap_aio(iot_s64 count, iot_u32 is_compat) {
  if (count <= 0)
    return 0;
  const struct pt_regs* regs = (const struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  struct aio_events events = {.list = argument_of(regs, 3, is_compat),
                              .now_ns = bpf_ktime_get_ns()};
  bpf_loop(at_most((iot_u64)count, AIO_BATCH_LIMIT), end_aio, &events, 0);
  return 0;
}

#endif
