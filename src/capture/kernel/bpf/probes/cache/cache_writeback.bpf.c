/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Write-back of dirty pages, from begin to end. All write-back passes do_writepages: the flusher,
 * sync, and fsync. The tracepoints of the kernel's write-back cover the flusher and sync; those of
 * ext4 cover all of ext4.
 */
#include "track/attribution.bpf.h"
#include "track/core.bpf.h"

/* The reason for the write-back of a kernel thread, by its tid. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 256);
  __type(key, iot_u32);
  __type(value, iot_u32);
} flush_reasons SEC(".maps");

SEC("?tp_btf/writeback_start")
int BPF_PROG(cache_flush_begin, void* wb, struct wb_writeback_work* work) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  iot_u32 reason = iot_config.writeback_reasons[work->reason & (IOT_REASON_LIMIT - 1)];
  bpf_map_update_elem(&flush_reasons, &tid, &reason, BPF_ANY);
  return 0;
}

SEC("?tp_btf/writeback_written")
int BPF_PROG(cache_flush_end, void* wb, struct wb_writeback_work* work) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  bpf_map_delete_elem(&flush_reasons, &tid);
  return 0;
}

static __always_inline iot_u32 writeback_reason(void) {
  if (!(bpf_get_current_task_btf()->flags & PF_KTHREAD))
    return IOT_writeback_reason_call;
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  const iot_u32* reason = bpf_map_lookup_elem(&flush_reasons, &tid);
  return reason ? *reason : IOT_writeback_reason_unknown;
}

/* A write-back in progress. */
struct write_back {
  struct iot_owner owner;
  iot_u64 start_ns;
  iot_u64 inode;
  iot_u64 control; /* the kernel's struct writeback_control */
  iot_s64 before;  /* the limit of pages when this began */
  iot_u32 file;
  iot_u32 sync;
  iot_u32 reason;
  iot_s32 result;
  iot_u32 is_of_ext4; /* begun by its tracepoint, inside no other */
  iot_u32 reserved;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_WRITE_BACK_LIMIT);
  __type(key, iot_u32); /* the thread */
  __type(value, struct write_back);
} write_backs SEC(".maps");

static __always_inline void emit_write_back(const struct write_back* begun, iot_s64 pages) {
  struct iot_place place;
  struct iot_cache_writeback* record = IOT_RESERVE(cache_writeback, &place);
  if (!record)
    return;
  record->pages = pages;
  record->file = begun->file;
  record->sync = begun->sync;
  record->reason = begun->reason;
  iot_commit(&place, &begun->owner, begun->start_ns);
}

/* `keep`: it must be known until its end. */
static __noinline int begin_write_back(iot_u64 inode, iot_u64 control, iot_u32 is_of_ext4,
                                       iot_u32 keep) {
  const struct writeback_control* wbc = (const struct writeback_control*)control;
  struct attribution attribution = {};
  if (!find_attribution(&attribution, iot_current(), (struct inode*)inode, 0))
    return 0;
  const struct write_back begun = {.owner = attribution.owner,
                                   .start_ns = bpf_ktime_get_ns(),
                                   .inode = inode,
                                   .control = control,
                                   .before = BPF_CORE_READ(wbc, nr_to_write),
                                   .file = attribution.file,
                                   .sync = BPF_CORE_READ(wbc, sync_mode) == WB_SYNC_ALL,
                                   .reason = writeback_reason(),
                                   .is_of_ext4 = is_of_ext4};
  if (iot_wants(IOT_KIND_cache_writeback))
    emit_write_back(&begun, begun.before);
  if (!keep && !iot_wants(IOT_KIND_cache_writeback_end))
    return 0;
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  if (bpf_map_update_elem(&write_backs, &tid, &begun, BPF_NOEXIST)) {
    /* No room, or an earlier end was missed. */
    if (iot_wants(IOT_KIND_cache_writeback_end))
      iot_lose(IOT_COUNTER_kernel_span_lost);
    bpf_map_update_elem(&write_backs, &tid, &begun, BPF_EXIST);
  }
  return 0;
}

static __always_inline struct write_back* write_back_in_progress(void) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  return bpf_map_lookup_elem(&write_backs, &tid);
}

static __noinline int end_write_back(iot_s32 result) {
  const struct write_back* begun = write_back_in_progress();
  if (!begun)
    return 0;
  const iot_u64 control = begun->control; /* no structure of the kernel has this value */
  const iot_s64 left = BPF_CORE_READ((const struct writeback_control*)control, nr_to_write);
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_cache_writeback_end* record =
      iot_wants(IOT_KIND_cache_writeback_end) ? IOT_RESERVE(cache_writeback_end, &place) : 0;
  if (record) {
    record->duration_ns = now_ns - begun->start_ns;
    record->pages = begun->before - left;
    record->file = begun->file;
    record->result = result;
    record->sync = begun->sync;
    record->reason = begun->reason;
    iot_commit(&place, &begun->owner, begun->start_ns);
  }
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  bpf_map_delete_elem(&write_backs, &tid);
  return 0;
}

SEC("?fentry/do_writepages")
int BPF_PROG(cache_do_writepages, struct address_space* mapping, struct writeback_control* wbc) {
  return begin_write_back(iot_number_of(mapping->host), iot_number_of(wbc), 0, 0);
}
SEC("?fexit/do_writepages")
int BPF_PROG(cache_do_writepages_exit, struct address_space* mapping, struct writeback_control* wbc,
             int result) {
  return end_write_back(result);
}
SEC("?kprobe/do_writepages")
int cache_do_writepages_kprobe(struct pt_regs* regs) {
  const struct address_space* mapping = (const void*)IOT_PARAMETER_0(regs);
  return begin_write_back((iot_u64)BPF_CORE_READ(mapping, host), IOT_PARAMETER_1(regs), 0, 0);
}
SEC("?kretprobe/do_writepages")
int cache_do_writepages_kretprobe(struct pt_regs* regs) {
  return end_write_back((iot_s32)IOT_RESULT(regs));
}

/*
 * By tracepoints: a write-back that the kernel begins is known until its end, so that ext4's part
 * of it is not taken for another.
 */
SEC("?tp_btf/writeback_single_inode_start")
int BPF_PROG(cache_single_inode_start, struct inode* inode, struct writeback_control* wbc) {
  return begin_write_back(iot_number_of(inode), iot_number_of(wbc), 0, 1);
}
SEC("?tp_btf/writeback_single_inode")
int BPF_PROG(cache_single_inode_end, struct inode* inode) {
  const struct write_back* begun = write_back_in_progress();
  return begun && begun->inode == iot_number_of(inode) ? end_write_back(begun->result) : 0;
}

SEC("?tp_btf/ext4_writepages")
int BPF_PROG(cache_ext4_writepages, struct inode* inode, struct writeback_control* wbc) {
  const iot_u64 number = iot_number_of(inode);
  const struct write_back* outer = write_back_in_progress();
  if (outer && outer->inode == number && !outer->is_of_ext4)
    return 0;
  return begin_write_back(number, iot_number_of(wbc), 1, 1);
}
SEC("?tp_btf/ext4_writepages_result")
int BPF_PROG(cache_ext4_writepages_result, struct inode* inode, struct writeback_control* wbc,
             int result) {
  struct write_back* begun = write_back_in_progress();
  if (!begun || begun->inode != iot_number_of(inode))
    return 0;
  if (begun->is_of_ext4)
    return end_write_back(result);
  begun->result = result;
  return 0;
}
