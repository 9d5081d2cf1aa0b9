/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Operations of io_uring and libaio in flight. Each is an operation of its own with the submitting
 * call as its parent. Later work for it, in any context, is attributed to it, whatever is
 * recorded.
 */
#ifndef IOTRAIL_ASYNC_BPF_H
#define IOTRAIL_ASYNC_BPF_H

#include "track/append.bpf.h"
#include "track/async_paths.bpf.h"
#include "track/core.bpf.h"
#include "track/sync_waiter.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_ASYNC_LIMIT);
  __type(key, struct iot_async_key);
  __type(value, struct iot_async);
} asyncs SEC(".maps");

/* Some operations ended in completions that async_overflow.bpf.c did not search for: their durations are unknown. */
iot_u32 are_async_ends_missed;

/*
 * Addresses of the kernel's functions that identify I/O; 0: unknown. block_find_functions() fills
 * them in.
 */
struct iot_functions iot_functions;

/* The operations of libaio follow those of io_uring in the value table, beginning with this one. */
#define LIBAIO_CALL IOT_async_call_IOCB_CMD_PREAD
#define LIBAIO_BIT(name) (1U << (IOT_async_call_IOCB_CMD_##name - LIBAIO_CALL))
#define CALL_BIT(name) (1ULL << IOT_async_call_IORING_OP_##name)
#define READS_AND_WRITES                                                                           \
  (CALL_BIT(READV) | CALL_BIT(WRITEV) | CALL_BIT(READ_FIXED) | CALL_BIT(WRITE_FIXED) |             \
   CALL_BIT(READ) | CALL_BIT(WRITE) | CALL_BIT(READ_MULTISHOT) | CALL_BIT(READV_FIXED) |           \
   CALL_BIT(WRITEV_FIXED))
#define OF_ONE_BUFFER                                                                              \
  (CALL_BIT(READ_FIXED) | CALL_BIT(WRITE_FIXED) | CALL_BIT(READ) | CALL_BIT(WRITE))
#define MOVES_BYTES                                                                                \
  (READS_AND_WRITES | CALL_BIT(SEND) | CALL_BIT(RECV) | CALL_BIT(SENDMSG) | CALL_BIT(RECVMSG) |    \
   CALL_BIT(SPLICE) | CALL_BIT(TEE) | CALL_BIT(SEND_ZC) | CALL_BIT(SENDMSG_ZC) |                   \
   CALL_BIT(RECV_ZC))
#define OF_ONE_MESSAGE (CALL_BIT(SEND) | CALL_BIT(RECV) | CALL_BIT(SEND_ZC))
/*
 * Calls on a descriptor; the request holds the file. Other requests may have a file too, which is
 * read at their end.
 */
#define ON_FILES                                                                                   \
  (MOVES_BYTES | CALL_BIT(FSYNC) | CALL_BIT(POLL_ADD) | CALL_BIT(SYNC_FILE_RANGE) |                \
   CALL_BIT(ACCEPT) | CALL_BIT(CONNECT) | CALL_BIT(FALLOCATE) | CALL_BIT(FADVISE) |                \
   CALL_BIT(SHUTDOWN) | CALL_BIT(FSETXATTR) | CALL_BIT(FGETXATTR) | CALL_BIT(URING_CMD) |          \
   CALL_BIT(MSG_RING) | CALL_BIT(FIXED_FD_INSTALL) | CALL_BIT(FTRUNCATE) | CALL_BIT(BIND) |        \
   CALL_BIT(LISTEN) | CALL_BIT(EPOLL_WAIT))
#define ON_PATHS                                                                                   \
  (CALL_BIT(OPENAT) | CALL_BIT(OPENAT2) | CALL_BIT(STATX) | CALL_BIT(RENAMEAT) |                   \
   CALL_BIT(UNLINKAT) | CALL_BIT(MKDIRAT) | CALL_BIT(SYMLINKAT) | CALL_BIT(LINKAT) |               \
   CALL_BIT(SETXATTR) | CALL_BIT(GETXATTR))
/* Calls on a descriptor; the request holds no file. */
#define ON_DESCRIPTORS (CALL_BIT(CLOSE) | CALL_BIT(EPOLL_CTL))
/* Calls that may have several results: always, or where they select their buffers themselves. */
#define MAY_GO_ON                                                                                  \
  (CALL_BIT(POLL_ADD) | CALL_BIT(ACCEPT) | CALL_BIT(TIMEOUT) | CALL_BIT(READ_MULTISHOT) |          \
   CALL_BIT(RECV_ZC))
#define MAY_GO_ON_WITH_BUFFERS                                                                     \
  (CALL_BIT(SEND) | CALL_BIT(RECV) | CALL_BIT(RECVMSG) | CALL_BIT(URING_CMD))
#define CQE_MORE (1U << 1) /* IORING_CQE_F_MORE: the operation has further completions */
#define WRITES (CALL_BIT(WRITEV) | CALL_BIT(WRITE) | CALL_BIT(WRITE_FIXED) | CALL_BIT(WRITEV_FIXED))
#define LIBAIO_WRITES (LIBAIO_BIT(PWRITE) | LIBAIO_BIT(PWRITEV))
#define LIBAIO_SYNCS (LIBAIO_BIT(FSYNC) | LIBAIO_BIT(FDSYNC))
#define LIBAIO_MOVES_BYTES                                                                         \
  (LIBAIO_BIT(PREAD) | LIBAIO_BIT(PWRITE) | LIBAIO_BIT(PREADV) | LIBAIO_BIT(PWRITEV))

static __always_inline int is_one_of(iot_u32 opcode, iot_u64 calls) {
  return opcode < 64 && calls >> (opcode & 63) & 1;
}

static __always_inline int is_call_of(iot_u32 call, iot_u64 of_uring, iot_u64 of_libaio) {
  return call < LIBAIO_CALL ? is_one_of(call, of_uring) : is_one_of(call - LIBAIO_CALL, of_libaio);
}

static __always_inline iot_u64 bytes_moved(iot_u32 call, iot_s64 result) {
  return is_call_of(call, MOVES_BYTES, LIBAIO_MOVES_BYTES) && result > 0 ? (iot_u64)result : 0;
}

static __always_inline int may_go_on(const struct iot_async* async) {
  return is_one_of(async->call, MAY_GO_ON) ||
         (async->flags & IOT_sqe_BUFFER_SELECT && is_one_of(async->call, MAY_GO_ON_WITH_BUFFERS));
}

/* Its end, or the last known state of it. */
static __always_inline void emit_async_operation(const struct iot_async* async, iot_s64 result,
                                                 iot_u64 now_ns) {
  if (!iot_wants(IOT_KIND_async_operation) || !iot_file_of_call_wanted(async->file))
    return;
  struct iot_place place;
  struct iot_async_operation* record = IOT_RESERVE(async_operation, &place);
  if (!record) {
    iot_lose_span(async->start_ns);
    return;
  }
  /* Duration unknown: the CQE was suppressed or missed. */
  const int is_silent = result == IOT_UNFINISHED &&
                        (async->flags & IOT_sqe_CQE_SKIP_SUCCESS || are_async_ends_missed);
  record->duration_ns = is_silent ? 0 : now_ns - async->start_ns;
  record->handed_over_ns = async->handed_over_ns;
  record->user_data = async->user_data;
  record->ring = async->ring;
  record->offset = async->offset;
  record->bytes_requested = async->bytes_requested;
  record->bytes = bytes_moved(async->call, result);
  record->result = result;
  record->file = async->file;
  record->fd = async->fd;
  record->call = async->call;
  record->flags = async->flags;
  iot_commit(&place, &async->owner, async->start_ns);
}

/* Emits the end of an operation of io_uring. */
static __always_inline void emit_uring_end(const struct iot_async* async, iot_s64 result,
                                           iot_u64 now_ns) {
  emit_async_operation(async, result, now_ns);
  if (async->paths.is_given)
    iot_emit_async_path(async, result, now_ns);
}

/*
 * An operation that ends when its data is safe waits for its disk. The file of a fixed descriptor
 * is unknown, and so is the end of an operation without a CQE.
 */
static __always_inline void begin_sync_of_async(struct iot_async* async, struct iot_task* task) {
  if (async->flags & (IOT_sqe_FIXED_FILE | IOT_sqe_CQE_SKIP_SUCCESS))
    return;
  const int is_sync = is_call_of(async->call, CALL_BIT(FSYNC), LIBAIO_SYNCS);
  if (!is_sync && !is_call_of(async->call, WRITES, LIBAIO_WRITES))
    return;
  const struct file* file = (const struct file*)iot_file_pointer_of_fd(async->fd);
  if (!file || (!is_sync && !(BPF_CORE_READ(file, f_flags) & IOT_open_O_DSYNC)) ||
      !iot_file_of_bio_wanted(async->file))
    return;
  async->sync_disk = disk_of_file(file);
  task->submitted_sync_disk = async->sync_disk;
  iot_begin_sync(&async->owner, async->sync_disk);
}

static __always_inline struct iot_async_key user_data_key(iot_u64 ring, iot_u64 user_data) {
  const struct iot_async_key key = {
      .number = user_data, .scope = (iot_u32)ring, .by = IOT_ASYNC_BY_USER_DATA};
  return key;
}

/* The position of an appending write is known only when it is done, and not always then. */
static __always_inline void forget_place_of_append(struct iot_async* async, iot_u32 rwf_flags) {
  if (!is_call_of(async->call, WRITES, LIBAIO_WRITES))
    return;
  const int is_of_table = (async->flags & IOT_sqe_FIXED_FILE) != 0;
  if (is_appending(is_of_table ? 0 : file_flags_of_fd(async->fd), rwf_flags))
    async->offset = IOT_OFFSET_NONE;
}

/*
 * A result has only the number of its operation. If several operations have the same number, it
 * belongs to the last one.
 */
static __noinline int await_results(struct iot_async* async, iot_u64 request) {
  if (!async)
    return 0;
  const struct iot_async_key key = user_data_key(async->ring, async->user_data);
  const struct iot_async* before = bpf_map_lookup_elem(&asyncs, &key);
  async->sharers = before ? before->sharers + 1 : 1;
  async->request = request;
  if (bpf_map_update_elem(&asyncs, &key, async, BPF_ANY) && iot_wants(IOT_KIND_async_result))
    iot_lose(IOT_COUNTER_kernel_async_untracked); /* the number of its results is unknown */
  return 0;
}

static __noinline int stop_awaiting(const struct iot_async* async) {
  if (!async)
    return 0;
  const struct iot_async_key key = user_data_key(async->ring, async->user_data);
  struct iot_async* awaited = bpf_map_lookup_elem(&asyncs, &key);
  if (!awaited)
    return 0;
  if (awaited->sharers <= 1)
    return (int)bpf_map_delete_elem(&asyncs, &key);
  --awaited->sharers;
  awaited->request = 0; /* which of them it was is unknown */
  return 0;
}

static __always_inline void forget_async(const struct iot_async_key* key,
                                         const struct iot_async* async) {
  if (may_go_on(async))
    stop_awaiting(async);
  if (async->sync_disk)
    iot_end_sync(async->owner.op_id, async->sync_disk);
  bpf_map_delete_elem(&asyncs, key);
}

/*
 * Stores an operation that the task begins. An operation still stored by the same key has ended
 * unseen.
 */
static __noinline int iot_async_begin(const struct iot_async_key* key, struct iot_async* async,
                                      struct iot_task* task) {
  if (!key || !async || !task)
    return 0;
  const struct iot_async* before = bpf_map_lookup_elem(&asyncs, key);
  if (before) {
    emit_uring_end(before, IOT_UNFINISHED, bpf_ktime_get_ns());
    forget_async(key, before);
  }
  begin_sync_of_async(async, task);
  if (!bpf_map_update_elem(&asyncs, key, async, BPF_ANY))
    return 0;
  if (async->sync_disk)
    iot_end_sync(async->owner.op_id, async->sync_disk);
  if (iot_wants(IOT_KIND_async_operation))
    iot_lose(IOT_COUNTER_kernel_async_untracked);
  return 0;
}

/* The key of an operation of the running process. */
static __always_inline struct iot_async_key iocb_key(iot_u64 iocb) {
  const struct iot_async_key key = {
      .number = iocb, .scope = bpf_get_current_pid_tgid() >> 32, .by = IOT_ASYNC_BY_IOCB};
  return key;
}

/* The request of io_uring that a worker thread of the kernel works for. */
static __always_inline iot_u64 request_of_worker(void) {
  const struct task_struct* current = bpf_get_current_task_btf();
  if (!(current->flags & PF_IO_WORKER) || !bpf_core_type_exists(struct io_worker))
    return 0;
  const struct io_worker* worker = (const struct io_worker*)current->worker_private;
  const iot_u64 work = worker ? (iot_u64)BPF_CORE_READ(worker, cur_work) : 0;
  return work ? work - bpf_core_field_offset(struct io_kiocb, work) : 0;
}

/* The completion function of an iocb. */
static __always_inline iot_u64 end_of_iocb(iot_u64 number) {
  const struct kiocb* iocb = IOT_TYPED(kiocb, number, iot_config.has_cast);
  void* end = 0;
  IOT_LOAD(end, iocb, ki_complete, iot_config.has_cast);
  return iot_number_of(end);
}

/* The operation of an iocb, or without one (0) of the running thread; NULL: none is known. */
static __always_inline const struct iot_async* iot_async_of(iot_u64 iocb) {
  if (!iot_config.follows_async)
    return 0;
  struct iot_async_key key = {};
  const iot_u64 complete = iocb ? end_of_iocb(iocb) : 0;
  if (complete && (complete == iot_functions.io_complete_rw ||
                   complete == iot_functions.io_complete_rw_iopoll)) {
    key.number = iocb;
  } else if (complete && complete == iot_functions.aio_complete_rw) {
    key = iocb_key(BPF_CORE_READ((const struct aio_kiocb*)iocb, ki_res.obj));
  } else {
    key.number = request_of_worker();
  }
  return key.number ? bpf_map_lookup_elem(&asyncs, &key) : 0;
}

/* Attributes the work of the running thread to that operation; NULL: changes nothing. */
static __always_inline void iot_attribute_to_async(struct iot_owner* owner,
                                                   const struct iot_async* async) {
  if (!async)
    return;
  owner->op_id = async->owner.op_id;
  owner->parent_op = async->owner.parent_op;
}

#endif
