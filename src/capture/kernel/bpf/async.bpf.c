/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * io_uring: an operation from its submission, by whatever thread, to the completion that the program is told. libaio is
 * followed at its system calls (async_aio.bpf.h).
 */
#include "async.bpf.h"
#include "choice.bpf.h"

#define CQE_MORE (1U << 1) /* IORING_CQE_F_MORE: the operation goes on */
#define SQE_FLAGS (((iot_u32)IOT_sqe_CQE_SKIP_SUCCESS << 1) - 1) /* the last of them */

#define MAY_GO_ON                                                                                  \
  (CALL_BIT(POLL_ADD) | CALL_BIT(ACCEPT) | CALL_BIT(RECV) | CALL_BIT(RECVMSG) |                    \
   CALL_BIT(TIMEOUT) | CALL_BIT(READ_MULTISHOT) | CALL_BIT(RECV_ZC))

static __always_inline struct iot_async_key user_data_key(iot_u64 ring, iot_u64 user_data) {
  const struct iot_async_key key = {
      .number = user_data, .scope = (iot_u32)ring, .by = IOT_ASYNC_BY_USER_DATA};
  return key;
}

/* Results say no more of their operation than its number: of several that have the same, the last one is meant. */
static __noinline int await_results(struct iot_async* async) {
  if (!async)
    return 0;
  const struct iot_async_key key = user_data_key(async->ring, async->user_data);
  if (!(async->flags & IOT_sqe_FIXED_FILE))
    async->file = iot_file_of_fd(async->fd);
  bpf_map_update_elem(&asyncs, &key, async, BPF_ANY);
  return 0;
}

static __always_inline void begin_uring(struct io_kiocb* trusted) {
  struct iot_task* task = iot_current();
  if (!task)
    task = iot_chosen_poller();
  if (!task)
    return;
  struct io_kiocb* request = IOT_UNTRUSTED(io_kiocb, trusted);
  const struct iot_async_key key = {.number = (iot_u64)request};
  struct iot_async async = {
      .owner = task->owner,
      .start_ns = bpf_ktime_get_ns(),
      .user_data = request->cqe.user_data,
      .ring = iot_number_of(request->ctx),
      .offset = IOT_OFFSET_NONE,
      .fd = request->cqe.fd,
      .call = request->opcode,
      .flags = (iot_u32)request->flags & SQE_FLAGS,
  };
  async.owner.parent_op = task->owner.op_id;
  async.owner.op_id = iot_new_op(task);
  if (is_one_of(async.call, READS_AND_WRITES)) {
    const struct io_rw* transfer = (const struct io_rw*)key.number;
    async.offset = BPF_CORE_READ(transfer, kiocb.ki_pos);
    if (is_one_of(async.call, OF_ONE_BUFFER))
      async.bytes_requested = BPF_CORE_READ(transfer, len);
  }
  if (FILTERS_FILES && !(async.flags & IOT_sqe_FIXED_FILE))
    async.file = iot_file_of_fd(async.fd);
  iot_async_begin(&key, &async, task);
  if (is_one_of(async.call, MAY_GO_ON))
    await_results(&async);
}

SEC("?tp_btf/io_uring_submit_req")
int BPF_PROG(async_submit_req, struct io_kiocb* request) {
  begin_uring(request);
  return 0;
}

/* Its name before 6.3. */
SEC("?tp_btf/io_uring_submit_sqe")
int BPF_PROG(async_submit_sqe, struct io_kiocb* request) {
  begin_uring(request);
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

static __always_inline struct iot_async* async_of_request(iot_u64 request) {
  const struct iot_async_key key = {.number = request};
  return bpf_map_lookup_elem(&asyncs, &key);
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

/* The file that a request has by now; 0: it needs none. */
static __always_inline iot_u32 file_of_request(iot_u64 request) {
  const struct file* file = BPF_CORE_READ((const struct io_kiocb*)request, file);
  if (!file)
    return 0;
  struct iot_task* task = iot_current();
  if (!task && iot_config.chooses_tasks) /* the running call may be none that is recorded */
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

/* `request` 0: a result of an operation that goes on, or a message of another ring. */
__noinline int iot_uring_end(iot_u64 ring, iot_u64 request, iot_u64 user_data, iot_s32 result,
                             iot_u32 flags) {
  const struct iot_async_key by_data = user_data_key(ring, user_data);
  const struct iot_async_key by_request = {.number = request};
  struct iot_async* async = bpf_map_lookup_elem(&asyncs, request ? &by_request : &by_data);
  if (!async)
    return 0;
  if (!request || flags & CQE_MORE) {
    emit_async_result(async, result);
    return 0;
  }
  async->file = file_of_request(request);
  if (!async->file && !(async->flags & IOT_sqe_FIXED_FILE))
    async->fd = IOT_NO_FD;
  emit_async_operation(async, result, bpf_ktime_get_ns());
  if (is_one_of(async->call, MAY_GO_ON))
    bpf_map_delete_elem(&asyncs, &by_data);
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

SEC("?tp_btf/io_uring_cqe_overflow")
int BPF_PROG(async_cqe_overflow, void* ring, unsigned long long user_data, int result) {
  struct iot_task* task = iot_current();
  if (!task || !iot_file_wanted(0))
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_async_overflow* record = IOT_RESERVE(async_overflow, &place);
  if (!record)
    return 0;
  record->user_data = user_data;
  record->ring = (iot_u64)ring;
  record->result = result;
  iot_commit(&place, &task->owner, now_ns);
  return 0;
}
