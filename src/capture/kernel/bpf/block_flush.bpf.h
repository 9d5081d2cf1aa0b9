/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Flushes of a disk's own cache. A bio that asks for one waits for a request of the kernel's own, which carries no bio and
 * serves all that wait, before its data and behind it.
 */
#ifndef IOTRAIL_BLOCK_FLUSH_BPF_H
#define IOTRAIL_BLOCK_FLUSH_BPF_H

#include "core.bpf.h"

#define OPERATION_BITS 0xffU
#define OPERATION_FLUSH 2

/* Whose a bio is. */
struct io_bio {
  io_u64 op_id;
  io_u64 queued_ns;
  io_u32 pid;
  io_u32 tid;
  io_u32 file;
  io_u32 reserved;
};

/* Traced bios that ask a disk to flush and have not ended, by their address; and, by disk, how many and the last of them. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IO_REQUEST_LIMIT);
  __type(key, io_u64);
  __type(value, io_u32); /* the disk */
} flush_bios SEC(".maps");

struct io_flush {
  struct io_bio asked;
  io_s64 waiting;
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 256);
  __type(key, io_u32);
  __type(value, struct io_flush);
} flushes SEC(".maps");
/* A bio that waits longer has ended without the kernel saying so. */
#define FLUSH_PATIENCE_NS 30000000000ULL

static __always_inline void await_flush(io_u64 bio, io_u32 device, const struct io_bio* entry) {
  struct io_flush first = {.asked = *entry, .waiting = 1};
  first.asked.file = 0; /* the disk's whole cache */
  if (bpf_map_update_elem(&flush_bios, &bio, &device, BPF_ANY)) {
    io_count(IO_COUNTER_kernel_bio_untracked);
    return;
  }
  struct io_flush* flush = bpf_map_lookup_elem(&flushes, &device);
  if (flush) {
    __sync_fetch_and_add(&flush->waiting, 1);
    flush->asked = first.asked;
  } else if (bpf_map_update_elem(&flushes, &device, &first, BPF_ANY)) {
    io_count(IO_COUNTER_kernel_bio_untracked);
  }
}

/* A bio that has ended waits for a flush no more. */
static __always_inline void forget_flush(io_u64 bio) {
  const io_u32* known = bpf_map_lookup_elem(&flush_bios, &bio);
  if (!known)
    return;
  io_u32 device = *known;
  if (bpf_map_delete_elem(&flush_bios, &bio))
    return;
  struct io_flush* flush = bpf_map_lookup_elem(&flushes, &device);
  if (flush && __sync_fetch_and_add(&flush->waiting, -1) <= 1)
    bpf_map_delete_elem(&flushes, &device);
}

/*
 * Whose a flush is: it is charged to the last traced one that asked, while any of them waits. On a disk with several
 * queues that can be another's flush.
 */
static __always_inline int find_flush(struct request* request, io_u32 device,
                                      struct io_bio* first) {
  if ((request->cmd_flags & OPERATION_BITS) != OPERATION_FLUSH)
    return 0;
  const struct io_flush* flush = bpf_map_lookup_elem(&flushes, &device);
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
