/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Completions of io_uring that find the completion queue full. They end their operations like any
 * others, but the kernel names them only by user_data. The request is therefore searched for among
 * all in flight.
 */
#include "track/async.bpf.h"

int iot_uring_end(iot_u64 ring, iot_u64 request, iot_u64 user_data, iot_s32 result, iot_u32 flags);

/*
 * A search takes up to a few hundred microseconds, inside a lock of the ring. It must not slow down
 * a program that overflows its queue all the time by more than a twentieth. The search has a time
 * budget that grows up to a limit.
 */
#define LOOK_SHARE 20
#define LOOK_LIMIT_NS 50000000ULL
iot_u64 look_budget_ns = LOOK_LIMIT_NS;
iot_u64 looked_ns;

struct overflowed {
  iot_u64 ring;
  iot_u64 user_data;
  iot_u64 request; /* the one found */
  iot_s32 result;
  iot_u32 flags;
};

/* A request that is done holds its completion. */
static long find_overflowed(void* map, const struct iot_async_key* key,
                            const struct iot_async* async, struct overflowed* of) {
  if (key->by != IOT_ASYNC_BY_REQUEST || async->user_data != of->user_data ||
      async->ring != of->ring)
    return 0;
  const struct io_kiocb* request = (const struct io_kiocb*)key->number;
  if (BPF_CORE_READ(request, cqe.res) != of->result ||
      BPF_CORE_READ(request, cqe.flags) != of->flags)
    return 0;
  of->request = key->number;
  return 1;
}

static __always_inline int may_look(iot_u64 now_ns) {
  const iot_u64 budget_ns = look_budget_ns + (now_ns - looked_ns) / LOOK_SHARE;
  look_budget_ns = budget_ns < LOOK_LIMIT_NS ? budget_ns : LOOK_LIMIT_NS;
  looked_ns = now_ns;
  return look_budget_ns >= LOOK_LIMIT_NS / 10;
}

static __noinline int end_overflowed(struct overflowed* of) {
  if (!of || !iot_config.follows_async || of->flags & CQE_MORE)
    return 0;
  const iot_u64 begin_ns = bpf_ktime_get_ns();
  if (may_look(begin_ns)) {
    bpf_for_each_map_elem(&asyncs, find_overflowed, of, 0);
    const iot_u64 took_ns = bpf_ktime_get_ns() - begin_ns;
    look_budget_ns -= took_ns < look_budget_ns ? took_ns : look_budget_ns;
  }
  if (!of->request)
    are_async_ends_missed = 1;
  else
    iot_uring_end(of->ring, of->request, of->user_data, of->result, of->flags);
  return 0;
}

SEC("?tp_btf/io_uring_cqe_overflow")
int BPF_PROG(async_cqe_overflow, void* ring, unsigned long long user_data, int result,
             unsigned int flags) {
  struct overflowed overflowed = {
      .ring = (iot_u64)ring, .user_data = user_data, .result = result, .flags = flags};
  end_overflowed(&overflowed);
  struct iot_task* task = iot_current();
  if (!task || !iot_file_wanted(0))
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_async_overflow* record = IOT_RESERVE(async_overflow, &place);
  if (!record)
    return 0;
  record->user_data = user_data;
  record->ring = overflowed.ring;
  record->result = result;
  iot_commit(&place, iot_owner_of(task), now_ns);
  return 0;
}
