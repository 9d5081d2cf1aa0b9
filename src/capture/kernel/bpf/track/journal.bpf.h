/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * File systems that a recording depends on. Their commits are recorded, whichever task makes them.
 */
#ifndef IOTRAIL_JOURNAL_BPF_H
#define IOTRAIL_JOURNAL_BPF_H

#include "track/core.bpf.h"
#include "track/task_filter.bpf.h"

/* File systems that traced tasks have changed or waited for, by device. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IOT_JOURNAL_LIMIT);
  __type(key, iot_u32);
  __type(value, struct iot_journal);
} journals SEC(".maps");

static __always_inline struct iot_journal* find_journal(iot_u32 device) {
  static const struct iot_journal none = {};
  struct iot_journal* journal = bpf_map_lookup_elem(&journals, &device);
  if (journal)
    return journal;
  if (IOT_UPDATE(&journals, &device, &none, BPF_NOEXIST) == -E2BIG)
    iot_count(IOT_COUNTER_kernel_journal_unknown);
  return bpf_map_lookup_elem(&journals, &device);
}

/*
 * Finds the owner of an event of a whole file system. An event of an untraced task is recorded in a
 * recording of all tasks, or if traced tasks use the file system. 0: not recorded.
 */
static __always_inline int find_asker(struct iot_owner* owner, iot_u32 device, int is_concerned) {
  struct iot_task* task = iot_current();
  if (is_stopped || iot_config.filter_files || !iot_file_system_wanted(device))
    return 0;
  if (task) {
    *owner = *iot_owner_of(task);
    return 1;
  }
  if (iot_is_suppressed() || (!is_concerned && !(iot_config.block_all && is_started)))
    return 0;
  attribute_to_running_task(owner);
  return 1;
}

#endif
