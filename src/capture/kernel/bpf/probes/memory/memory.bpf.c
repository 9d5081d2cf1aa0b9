/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Memory management that delays operations: tasks that must free memory themselves, and writers
 * that must pause. The span of a reclaim has the order in `detail`.
 */
#include "track/core.bpf.h"

static __always_inline int begin_reclaim(int order) {
  struct iot_task* task = iot_current();
  struct iot_span* span = task ? iot_span_begin(task, IOT_KIND_memory_reclaim, 0) : 0;
  if (!span)
    return 0;
  span->detail = (iot_u64)order;
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_reclaim(iot_u64 pages, iot_u32 scope) {
  struct iot_task* task = iot_current();
  const struct iot_span* span = task ? iot_span_end(task, IOT_KIND_memory_reclaim, 0) : 0;
  if (!span)
    return 0;
  const iot_u64 start_ns = span->start_ns;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_memory_reclaim* record = IOT_RESERVE(memory_reclaim, &place);
  if (!record)
    return 0;
  record->duration_ns = now_ns - start_ns;
  record->pages = pages;
  record->page_order = (iot_u32)span->detail;
  record->scope = scope;
  record->result = 0;
  iot_commit(&place, iot_owner_of(task), start_ns);
  return 0;
}

SEC("?tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(memory_direct_reclaim_begin, int order) {
  return begin_reclaim(order);
}

SEC("?tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(memory_direct_reclaim_end, unsigned long pages) {
  return end_reclaim(pages, IOT_memory_scope_machine);
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(memory_cgroup_reclaim_begin, int order) {
  return begin_reclaim(order);
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(memory_cgroup_reclaim_end, unsigned long pages) {
  return end_reclaim(pages, IOT_memory_scope_cgroup);
}

/* Rates in pages a second. A pause, in ticks, that is not positive is none. */
static __always_inline int emit_throttle(iot_u64 device_rate, iot_u64 task_rate, iot_u64 pages,
                                         iot_s64 pause) {
  struct iot_task* task = pause > 0 ? iot_current() : 0;
  if (!task)
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_memory_throttle* record = IOT_RESERVE(memory_throttle, &place);
  if (!record)
    return 0;
  record->pause_ns = (iot_u64)pause * iot_config.tick_ns;
  record->task_rate = task_rate << IOT_PAGE_SHIFT;
  record->device_rate = device_rate << IOT_PAGE_SHIFT;
  record->pages = pages;
  iot_commit(&place, iot_owner_of(task), now_ns);
  return 0;
}

/* Later kernels pass one argument with all limits in place of the arguments before the rates. */
SEC("?tp_btf/balance_dirty_pages")
int memory_balance_dirty(unsigned long long* ctx) {
  return emit_throttle(ctx[2], ctx[3], (iot_u32)ctx[4], (iot_s64)ctx[6]);
}

SEC("?tp_btf/balance_dirty_pages")
int memory_balance_dirty_limits(unsigned long long* ctx) {
  return emit_throttle(ctx[6], ctx[7], (iot_u32)ctx[8], (iot_s64)ctx[10]);
}

/* kswapd's work, by its thread: each node has one. */
struct kswapd_run {
  iot_u64 start_ns;
  iot_u64 pages;
  iot_u64 pages_scanned;
  iot_u32 page_order;
  iot_u32 reserved;
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IOT_NODE_LIMIT);
  __type(key, iot_u32);
  __type(value, struct kswapd_run);
} kswapd_runs SEC(".maps");

SEC("?tp_btf/mm_vmscan_kswapd_wake")
int BPF_PROG(memory_kswapd_wake, int node, int zone, int order) {
  const struct kswapd_run run = {.start_ns = bpf_ktime_get_ns(), .page_order = (iot_u32)order};
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  if (bpf_map_update_elem(&kswapd_runs, &tid, &run, BPF_ANY))
    iot_lose(IOT_COUNTER_kernel_span_lost);
  return 0;
}

SEC("?tp_btf/mm_vmscan_lru_shrink_inactive")
int BPF_PROG(memory_kswapd_shrink, int node, unsigned long scanned, unsigned long freed) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  struct kswapd_run* run = bpf_map_lookup_elem(&kswapd_runs, &tid);
  if (!run)
    return 0;
  run->pages += freed;
  run->pages_scanned += scanned;
  return 0;
}

SEC("?tp_btf/mm_vmscan_kswapd_sleep")
int BPF_PROG(memory_kswapd_sleep, int node) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  const struct kswapd_run* run = bpf_map_lookup_elem(&kswapd_runs, &tid);
  if (!run)
    return 0;
  const struct iot_owner owner = {.pid = tid, .tid = tid};
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_memory_kswapd* record = is_stopped ? 0 : IOT_RESERVE(memory_kswapd, &place);
  if (record) {
    record->duration_ns = now_ns - run->start_ns;
    record->pages = run->pages;
    record->pages_scanned = run->pages_scanned;
    record->page_order = run->page_order;
    record->node = (iot_u32)node;
    iot_commit(&place, &owner, run->start_ns);
  }
  bpf_map_delete_elem(&kswapd_runs, &tid);
  return 0;
}
