/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Journals without room (jbd2): their blocks must first be written to their own places.
 */
#include "track/journal.bpf.h"

/*
 * Checkpoints in progress, by device: a journal has one, of its oldest transaction. Another thread
 * may notice that its last block was written.
 */
struct journal_checkpoint {
  struct iot_owner owner;
  iot_u64 start_ns;
  iot_u64 transaction;
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IOT_JOURNAL_LIMIT);
  __type(key, iot_u32);
  __type(value, struct journal_checkpoint);
} checkpoints SEC(".maps");

static __always_inline int find_waiter_for_room(struct iot_owner* owner, iot_u32 device) {
  return find_asker(owner, device, bpf_map_lookup_elem(&journals, &device) != 0);
}

SEC("?tp_btf/jbd2_checkpoint")
int BPF_PROG(journal_checkpoint, struct journal_s* journal) {
  struct journal_checkpoint begun = {};
  if (!journal)
    return 0;
  const struct transaction_s* oldest = BPF_CORE_READ(journal, j_checkpoint_transactions);
  iot_u32 device = BPF_CORE_READ(journal, j_fs_dev, bd_dev);
  if (!oldest || !find_waiter_for_room(&begun.owner, device))
    return 0;
  begun.transaction = BPF_CORE_READ(oldest, t_tid);
  begun.start_ns = bpf_ktime_get_ns();
  if (bpf_map_update_elem(&checkpoints, &device, &begun, BPF_ANY))
    iot_lose(IOT_COUNTER_kernel_journal_untracked);
  return 0;
}

/* Runs for every transaction that leaves the journal, also for one without a waiter. */
SEC("?tp_btf/jbd2_checkpoint_stats")
int BPF_PROG(journal_checkpoint_stats, iot_u32 device, iot_u32 transaction,
             struct transaction_chp_stats_s* stats) {
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct journal_checkpoint done = {};
  const struct journal_checkpoint* begun = bpf_map_lookup_elem(&checkpoints, &device);
  if (!stats || is_stopped)
    return 0;
  if (begun && begun->transaction == transaction) {
    done = *begun;
    bpf_map_delete_elem(&checkpoints, &device);
  } else if (!(stats->cs_written || stats->cs_forced_to_close) ||
             !find_waiter_for_room(&done.owner, device)) {
    return 0;
  } else {
    done.start_ns = now_ns - stats->cs_chp_time * iot_config.tick_ns;
  }
  struct iot_place place;
  struct iot_fs_journal_checkpoint* record = IOT_RESERVE(fs_journal_checkpoint, &place);
  if (!record)
    return 0;
  record->duration_ns = now_ns - done.start_ns;
  record->device = device;
  record->transaction = transaction;
  record->blocks_written = stats->cs_written;
  record->commits_awaited = stats->cs_forced_to_close;
  iot_commit(&place, &done.owner, done.start_ns);
  return 0;
}
