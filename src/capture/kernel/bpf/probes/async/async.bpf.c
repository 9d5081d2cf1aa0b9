/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * io_uring: an operation from its submission, by any thread, to its completion. libaio is followed
 * at its system calls (async_aio.bpf.h).
 */
#include "track/async.bpf.h"
#include "track/task_filter.bpf.h"

#define CQE_NOTIFICATION                                                                           \
  (1U << 3) /* IORING_CQE_F_NOTIF: the memory of a send without a copy is free */
#define SQE_FLAGS (((iot_u32)IOT_sqe_CQE_SKIP_SUCCESS << 1) - 1) /* up to the last of them */

/*
 * The file of a descriptor; 0: the call needs none, has a path, or uses a descriptor of the ring's
 * table.
 */
static __always_inline iot_u32 file_named_by(const struct iot_async* async) {
  return is_one_of(async->call, ON_FILES | ON_DESCRIPTORS) && !(async->flags & IOT_sqe_FIXED_FILE)
             ? iot_file_of_fd(async->fd)
             : 0;
}

/* Suppresses the submitter of an operation that is not recorded, until it submits the next one. */
static __noinline int choose_submitted(iot_u32 call) {
  struct task_struct* current = bpf_get_current_task_btf();
  struct iot_task* own = current->flags & PF_IO_WORKER ? 0 : iot_state_of(current);
  if (own && own->owner.op_id)
    iot_choose_submitted(own, call);
  return 0;
}

/* The task that submits an operation, by its number in the value table; NULL: it is not traced. */
static __always_inline struct iot_task* submitter(iot_u32 call) {
  if (iot_config.filters_operations)
    choose_submitted(call);
  struct iot_task* task = iot_current();
  return task ? task : iot_find_chosen_poller(call);
}

/* Fills in the arguments of a transfer. */
static __always_inline void begin_uring(struct iot_task* task, struct iot_async* async,
                                        iot_u64 request) {
  const struct iot_async_key key = {.number = request};
  async->owner = *iot_owner_of(task);
  async->owner.parent_op = task->owner.op_id;
  async->owner.op_id = iot_new_op(task);
  const int is_on_descriptor = is_one_of(async->call, ON_DESCRIPTORS);
  if (!is_on_descriptor && !async->paths.is_given && !is_one_of(async->call, ON_FILES))
    async->fd = IOT_NO_FD;
  /*
   * Other requests name their file when they end. Before, the operation that they are linked to may
   * change the meaning of a descriptor.
   */
  if (FILTERS_FILES || is_on_descriptor || may_go_on(async) ||
      async->flags & IOT_sqe_CQE_SKIP_SUCCESS)
    async->file = file_named_by(async);
  iot_async_begin(&key, async, task);
  if (may_go_on(async))
    await_results(async, request);
}

static __always_inline void ask_for_transfer(struct iot_async* async, iot_u64 request) {
  const struct io_rw* transfer = (const struct io_rw*)request;
  async->offset = BPF_CORE_READ(transfer, kiocb.ki_pos);
  if (is_one_of(async->call, OF_ONE_BUFFER))
    async->bytes_requested = BPF_CORE_READ(transfer, len);
  if (is_one_of(async->call, WRITES))
    forget_place_of_append(async, BPF_CORE_READ(transfer, flags));
}

static __always_inline void ask_for_message(struct iot_async* async, iot_u64 request) {
  if (bpf_core_type_exists(struct io_sr_msg))
    async->bytes_requested = BPF_CORE_READ((const struct io_sr_msg*)request, len);
}

/*
 * The descriptor of a request that holds no file; IOT_NO_FD: it is one of the ring's table, or
 * unknown.
 */
static __always_inline iot_s32 descriptor_of(iot_u32 call, iot_u64 request) {
  if (call == IOT_async_call_IORING_OP_EPOLL_CTL && bpf_core_type_exists(struct io_epoll))
    return BPF_CORE_READ((const struct io_epoll*)request, epfd);
  if (call != IOT_async_call_IORING_OP_CLOSE || !bpf_core_type_exists(struct io_close))
    return IOT_NO_FD;
  const struct io_close* close = (const struct io_close*)request;
  return BPF_CORE_READ(close, file_slot) ? IOT_NO_FD : BPF_CORE_READ(close, fd);
}

#define GIVES_UP (IOT_fallocate_FALLOC_FL_PUNCH_HOLE | IOT_fallocate_FALLOC_FL_ZERO_RANGE)

/* Fills in the arguments of a call that shortens a file or makes a hole. */
static __always_inline void ask_for_change(struct iot_async* async, iot_u64 request) {
  if (async->call == IOT_async_call_IORING_OP_FTRUNCATE && bpf_core_type_exists(struct io_ftrunc))
    async->offset = BPF_CORE_READ((const struct io_ftrunc*)request, len);
  if (async->call != IOT_async_call_IORING_OP_FALLOCATE || !bpf_core_type_exists(struct io_sync))
    return;
  const struct io_sync* change = (const struct io_sync*)request;
  if (!((iot_u32)BPF_CORE_READ(change, mode) & GIVES_UP))
    return;
  async->offset = BPF_CORE_READ(change, off);
  async->bytes_requested = (iot_u64)BPF_CORE_READ(change, len);
}

static __always_inline void begin_submitted(struct io_kiocb* trusted) {
  struct iot_task* task = submitter(trusted->opcode);
  if (!task)
    return;
  struct io_kiocb* request = IOT_UNTRUSTED(io_kiocb, trusted);
  struct iot_async async = {
      .start_ns = bpf_ktime_get_ns(),
      .user_data = request->cqe.user_data,
      .ring = iot_number_of(request->ctx),
      .offset = IOT_OFFSET_NONE,
      .fd = request->cqe.fd,
      .call = request->opcode,
      .flags = (iot_u32)request->flags & SQE_FLAGS,
  };
  if (is_one_of(async.call, READS_AND_WRITES))
    ask_for_transfer(&async, (iot_u64)request);
  else if (is_one_of(async.call, OF_ONE_MESSAGE))
    ask_for_message(&async, (iot_u64)request);
  else if (is_one_of(async.call, ON_DESCRIPTORS))
    async.fd = descriptor_of(async.call, (iot_u64)request);
  else if (is_one_of(async.call, ON_PATHS))
    async.fd = iot_ask_for_paths(&async.paths, async.call, iot_number_of(request));
  else
    ask_for_change(&async, (iot_u64)request);
  begin_uring(task, &async, (iot_u64)request);
}

SEC("?tp_btf/io_uring_submit_req")
int BPF_PROG(async_submit_req, struct io_kiocb* request) {
  begin_submitted(request);
  return 0;
}

/* Its name before 6.3. */
SEC("?tp_btf/io_uring_submit_sqe")
int BPF_PROG(async_submit_sqe, struct io_kiocb* request) {
  begin_submitted(request);
  return 0;
}

static __always_inline struct iot_async* async_of_request(iot_u64 request) {
  const struct iot_async_key key = {.number = request};
  return bpf_map_lookup_elem(&asyncs, &key);
}

/*
 * An entry of the queue that the kernel refuses, but completes a request for. It may have been
 * submitted before if it is linked to others.
 */
SEC("?tp_btf/io_uring_req_failed")
int BPF_PROG(async_req_failed, const struct io_uring_sqe* entry, struct io_kiocb* request) {
  struct iot_task* task = submitter(BPF_CORE_READ(entry, opcode));
  if (!task)
    return 0;
  const struct iot_async* before = async_of_request((iot_u64)request);
  struct iot_async async = {
      .start_ns = bpf_ktime_get_ns(),
      .user_data = BPF_CORE_READ(entry, user_data),
      .ring = (iot_u64)BPF_CORE_READ(request, ctx),
      .offset = IOT_OFFSET_NONE,
      .fd = BPF_CORE_READ(entry, fd),
      .call = BPF_CORE_READ(entry, opcode),
      .flags = BPF_CORE_READ(entry, flags) & SQE_FLAGS,
  };
  if (before && before->user_data == async.user_data &&
      before->owner.parent_op == task->owner.op_id)
    return 0;
  if (is_one_of(async.call, READS_AND_WRITES))
    async.offset = (iot_s64)BPF_CORE_READ(entry, off);
  if (is_one_of(async.call, OF_ONE_BUFFER | OF_ONE_MESSAGE))
    async.bytes_requested = BPF_CORE_READ(entry, len);
  if (is_one_of(async.call, ON_PATHS))
    async.fd = iot_read_paths(&async.paths, async.call, iot_number_of(entry));
  begin_uring(task, &async, (iot_u64)request);
  return 0;
}

/* `other_op`: the operation that it is linked to; 0: none. */
static __noinline int emit_async_step(const struct iot_async* async, iot_u32 step,
                                      iot_u64 other_op) {
  if (!async || !iot_wants(IOT_KIND_async_step) || !iot_file_wanted(async->file))
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_async_step* record = IOT_RESERVE(async_step, &place);
  if (!record)
    return 0;
  record->user_data = async->user_data;
  record->ring = async->ring;
  record->other_op = other_op;
  record->call = async->call;
  record->step = step;
  iot_commit(&place, &async->owner, now_ns);
  return 0;
}

SEC("?tp_btf/io_uring_queue_async_work")
int BPF_PROG(async_queue_work, struct io_kiocb* request) {
  struct iot_async* async = async_of_request((iot_u64)request);
  if (async && !async->handed_over_ns)
    async->handed_over_ns = bpf_ktime_get_ns() - async->start_ns;
  return emit_async_step(async, IOT_async_step_handed_over, 0);
}

SEC("?tp_btf/io_uring_poll_arm")
int BPF_PROG(async_poll_arm, struct io_kiocb* request) {
  return emit_async_step(async_of_request((iot_u64)request), IOT_async_step_polled, 0);
}

SEC("?tp_btf/io_uring_task_add")
int BPF_PROG(async_task_add, struct io_kiocb* request) {
  return emit_async_step(async_of_request((iot_u64)request), IOT_async_step_ready, 0);
}

SEC("?tp_btf/io_uring_defer")
int BPF_PROG(async_defer, struct io_kiocb* request) {
  return emit_async_step(async_of_request((iot_u64)request), IOT_async_step_deferred, 0);
}

SEC("?tp_btf/io_uring_link")
int BPF_PROG(async_link, struct io_kiocb* request, struct io_kiocb* before) {
  struct iot_async* async = async_of_request((iot_u64)request);
  const struct iot_async* linked_to = async_of_request((iot_u64)before);
  if (!async || !linked_to)
    return 0;
  async->linked_to_op = linked_to->owner.op_id; /* it has ended when its failure reaches this one */
  return emit_async_step(async, IOT_async_step_linked, async->linked_to_op);
}

SEC("?tp_btf/io_uring_fail_link")
int BPF_PROG(async_fail_link, struct io_kiocb* failed, struct io_kiocb* request) {
  const struct iot_async* async = async_of_request((iot_u64)request);
  return emit_async_step(async, IOT_async_step_link_failed, async ? async->linked_to_op : 0);
}

/* The file that an operation has opened; NULL: none, or it is in the ring's table. */
static __always_inline const struct file* opened_by(iot_u32 call, iot_u64 request, iot_s32 result) {
  if (!IS_OPEN(call) || result < 0 || !bpf_core_type_exists(struct io_open) ||
      BPF_CORE_READ((const struct io_open*)request, file_slot))
    return 0;
  return (const struct file*)iot_file_pointer_of_fd(result);
}

/* Key of the file that a request has, or has opened; 0: none. */
static __always_inline iot_u32 identify_file(const struct file* file) {
  if (!file)
    return 0;
  struct iot_task* task = iot_current();
  if (!task && iot_config.filters_tasks) /* the running call may be one that is not recorded */
    task = iot_state_of(bpf_get_current_task_btf());
  return task ? iot_file_of(task, file) : iot_file_known((iot_u64)BPF_CORE_READ(file, f_inode));
}

static __always_inline void emit_async_result(const struct iot_async* async, iot_s64 result) {
  if (!iot_wants(IOT_KIND_async_result) || !iot_file_wanted(async->file))
    return;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_async_result* record = IOT_RESERVE(async_result, &place);
  if (!record)
    return;
  record->user_data = async->user_data;
  record->ring = async->ring;
  record->bytes = bytes_moved(async->call, result);
  record->result = result;
  record->file = async->file;
  record->call = async->call;
  iot_commit(&place, &async->owner, now_ns);
}

/* The file that a request now has; 0: it needs none. */
static __always_inline iot_u32 file_of_request(iot_u64 request) {
  return identify_file(BPF_CORE_READ((const struct io_kiocb*)request, file));
}

/*
 * Emits an intermediate CQE: of an operation with further results, or one that still uses the
 * program's memory.
 */
static __always_inline void emit_more(struct iot_async* async, iot_s32 result, iot_u32 flags) {
  if (!async->file && async->request)
    async->file = file_of_request(async->request);
  emit_async_result(async, flags & CQE_NOTIFICATION ? 0 : result);
  if (flags & CQE_NOTIFICATION)
    stop_awaiting(async);
}

#define IOCB_APPEND IOT_rwf_RWF_APPEND /* the kernel's flag, unchanged since 5.9 */

/*
 * The position of an appending operation, or of one at the position of the descriptor (offset -1),
 * follows from the position that it left.
 */
static __always_inline void place_when_done(struct iot_async* async, iot_u64 request,
                                            iot_s64 result) {
  if (result <= 0 || !is_one_of(async->call, READS_AND_WRITES))
    return;
  const struct kiocb* iocb =
      IOT_TYPED(kiocb, request, iot_config.has_cast); /* io_rw begins with it */
  iot_s64 end = 0;
  iot_u32 flags = 0;
  IOT_LOAD(flags, iocb, ki_flags, iot_config.has_cast);
  if (async->offset != IOT_OFFSET_NONE && !(flags & IOCB_APPEND && is_one_of(async->call, WRITES)))
    return;
  IOT_LOAD(end, iocb, ki_pos, iot_config.has_cast);
  const struct file* file = BPF_CORE_READ((const struct io_kiocb*)request, file);
  const iot_u32 fd_flags =
      fd_flags_of(BPF_CORE_READ(file, f_mode), BPF_CORE_READ(file, f_inode, i_mode));
  async->offset = fd_flags & IOT_FD_ADVANCES && end >= result ? end - result : IOT_OFFSET_NONE;
}

/*
 * `request` 0: an intermediate result, or a message of another ring. A notification has a request
 * of its own.
 */
__noinline int iot_uring_end(iot_u64 ring, iot_u64 request, iot_u64 user_data, iot_s32 result,
                             iot_u32 flags) {
  const struct iot_async_key by_data = user_data_key(ring, user_data);
  const struct iot_async_key by_request = {.number = request};
  const int is_known_by_data = !request || flags & CQE_NOTIFICATION;
  struct iot_async* async = bpf_map_lookup_elem(&asyncs, is_known_by_data ? &by_data : &by_request);
  if (!async)
    return 0;
  if (is_known_by_data) {
    emit_more(async, result, flags);
    return 0;
  }
  const struct file* opened = opened_by(async->call, request, result);
  const iot_u32 file = opened ? identify_file(opened) : file_of_request(request);
  if (file)
    async->file = file;
  else if (!async->file) /* an operation that was cancelled before it began */
    async->file = file_named_by(async);
  place_when_done(async, request, result);
  emit_uring_end(async, result, bpf_ktime_get_ns());
  if (flags & CQE_MORE)
    await_results(async, 0);
  forget_async(&by_request, async);
  return 0;
}

SEC("?tp_btf/io_uring_complete")
int BPF_PROG(async_complete, void* ring, void* request, iot_u64 user_data, int result,
             unsigned int flags) {
  return iot_uring_end((iot_u64)ring, (iot_u64)request, user_data, result, flags);
}

/* Since 6.15. */
SEC("?tp_btf/io_uring_complete")
int BPF_PROG(async_complete_cqe, void* ring, void* request, struct io_uring_cqe* completion) {
  return iot_uring_end(iot_number_of(ring), (iot_u64)request, BPF_CORE_READ(completion, user_data),
                       BPF_CORE_READ(completion, res), BPF_CORE_READ(completion, flags));
}
