/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * File systems that a recording has to do with: their commits, which others make, are recorded.
 */
#ifndef IOTRAIL_JOURNAL_BPF_H
#define IOTRAIL_JOURNAL_BPF_H

#include "core.bpf.h"
#include "syscall.bpf.h"

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
  if (bpf_map_update_elem(&journals, &device, &none, BPF_NOEXIST) == -E2BIG)
    iot_count(IOT_COUNTER_kernel_journal_unknown);
  return bpf_map_lookup_elem(&journals, &device);
}

#endif
