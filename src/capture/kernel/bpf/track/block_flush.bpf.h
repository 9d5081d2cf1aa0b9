/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Flushes of a disk's cache. A bio that asks for one waits, before its data and after it, for a
 * request of the kernel. That request has no bio and serves all waiting ones.
 */
#ifndef IOTRAIL_BLOCK_FLUSH_BPF_H
#define IOTRAIL_BLOCK_FLUSH_BPF_H

#include "track/block_fields.bpf.h"

/*
 * Traced bios that asked a disk to flush and have not ended, by address. By disk: their number and
 * the last of them.
 */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IOT_REQUEST_LIMIT);
  __type(key, iot_u64);
  __type(value, iot_u32); /* the disk */
} flush_bios SEC(".maps");

struct iot_flush {
  struct iot_bio asked;
  iot_s64 waiting;
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 256);
  __type(key, iot_u32);
  __type(value, struct iot_flush);
} flushes SEC(".maps");
/* A bio that waits longer has ended without a tracepoint. */
#define FLUSH_PATIENCE_NS 30000000000ULL

/* A bio that already waits asks for the flush after its data now. */
static __always_inline void await_flush(iot_u64 bio, iot_u32 device, const struct iot_bio* entry) {
  struct iot_flush first = {.asked = *entry, .waiting = 1};
  first.asked.file = 0; /* the whole cache of the disk */
  const int failed = IOT_UPDATE(&flush_bios, &bio, &device, BPF_NOEXIST);
  if (failed && failed != -EEXIST) {
    iot_count(IOT_COUNTER_kernel_bio_untracked);
    return;
  }
  struct iot_flush* flush = bpf_map_lookup_elem(&flushes, &device);
  if (flush) {
    if (!failed)
      __sync_fetch_and_add(&flush->waiting, 1);
    flush->asked = first.asked;
  } else if (bpf_map_update_elem(&flushes, &device, &first, BPF_ANY)) {
    iot_count(IOT_COUNTER_kernel_bio_untracked);
  }
}

/*
 * Whether the disk cannot write this bio through its cache (FUA). The kernel then clears the flag
 * and flushes after the data.
 */
static __always_inline int is_flushed_behind(const struct bio* bio, iot_u32 flags) {
  return flags & IS_WRITE && bio && bio->bi_opf & ~flags & 1U << BIT_OF(__REQ_FUA);
}

/* A bio that has ended no longer waits for a flush. */
static __always_inline void forget_flush(iot_u64 bio) {
  const iot_u32* known = bpf_map_lookup_elem(&flush_bios, &bio);
  if (!known)
    return;
  iot_u32 device = *known;
  if (bpf_map_delete_elem(&flush_bios, &bio))
    return;
  struct iot_flush* flush = bpf_map_lookup_elem(&flushes, &device);
  if (flush && __sync_fetch_and_add(&flush->waiting, -1) <= 1)
    bpf_map_delete_elem(&flushes, &device);
}

/*
 * Finds the owner of a flush: the last traced bio that asked, while any of them waits. On a disk
 * with several queues it can be the flush of another.
 */
static __always_inline int find_flush(struct request* request, iot_u32 device,
                                      struct iot_bio* first) {
  if ((request->cmd_flags & IOT_CHOICE_block) != IOT_block_flush)
    return 0;
  const struct iot_flush* flush = bpf_map_lookup_elem(&flushes, &device);
  if (!flush)
    return 0;
  if (bpf_ktime_get_ns() - flush->asked.queued_ns > FLUSH_PATIENCE_NS) {
    bpf_map_delete_elem(&flushes, &device);
    return 0;
  }
  *first = flush->asked;
  return 1;
}

#endif
